"""Parts of a usage that have prices of their own: what of the directions a vendor's format can tell, and so is true."""

from tollkeeper_simulator.dialect import ToldParts
from tollkeeper_simulator.directions import Directions
from tollkeeper_simulator.scene import Figures
from tollkeeper_simulator.truth import TruthLine


def note_parts(line: TruthLine, directions: Directions, told: ToldParts, spoken_tokens: int) -> None:
    """`spoken_tokens`: of the answer, without thoughts."""
    if told.media:
        line.image_input_tokens, line.audio_input_tokens = directions.image_in, directions.audio_in
        line.input_tokens += directions.image_in + directions.audio_in
        line.image_output_tokens = min(directions.image_out, spoken_tokens)
        line.audio_output_tokens = min(directions.audio_out, spoken_tokens - line.image_output_tokens)
    if told.cache_write_1h:
        line.cache_write_1h_tokens = directions.cache_write_1h
    if told.cache_write:
        line.cache_write_tokens = directions.cache_write + line.cache_write_1h_tokens
        of_cache = directions.cached + line.cache_write_tokens
        if line.cache_write_tokens or told.cache_write_1h:
            # Parts that are told beside each other cannot be more than their sum.
            of_media = line.image_input_tokens + line.audio_input_tokens
            line.input_tokens = max(line.input_tokens, of_cache + of_media)
    if told.tools:
        line.tool_uses = directions.tool_uses


def figures_of(line: TruthLine, output_tokens: int) -> Figures:
    """What a call is told that is answered wholly."""
    return Figures(
        input_tokens=line.input_tokens,
        cached_tokens=line.cached_tokens,
        output_tokens=output_tokens,
        cache_write_tokens=line.cache_write_tokens,
        thinking_tokens=line.thinking_tokens,
        cache_write_1h_tokens=line.cache_write_1h_tokens,
        image_input_tokens=line.image_input_tokens,
        audio_input_tokens=line.audio_input_tokens,
        image_output_tokens=line.image_output_tokens,
        audio_output_tokens=line.audio_output_tokens,
        tool_uses=line.tool_uses,
    )
