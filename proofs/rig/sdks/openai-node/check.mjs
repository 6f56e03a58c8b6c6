// The `openai` package from npm: each check as a caller would write it, with default retries.

import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { PICTURE, Usage, perform, weather } from "../stage.mjs";

const TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const REFUSALS = {
  400: OpenAI.BadRequestError,
  401: OpenAI.AuthenticationError,
  403: OpenAI.PermissionDeniedError,
  404: OpenAI.NotFoundError,
  524: OpenAI.InternalServerError,
};

async function plain(act) {
  const answer = await ask(act);
  checkWords(answer);
  return usageOf(answer.usage);
}

async function streamed(act) {
  const chunks = await Array.fromAsync(await ask(act, { stream: true }));
  assert.ok(textOf(chunks));
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
  assert.ok(!chunks.some((chunk) => chunk.usage), "a usage chunk that was not asked for");
  return chunks.length;
}

async function streamedWithUsage(act) {
  const chunks = await Array.fromAsync(await ask(act, { stream: true, stream_options: { include_usage: true } }));
  const last = chunks.pop();
  assert.ok(textOf(chunks));
  assert.equal(chunks.at(-1).choices[0].finish_reason, "stop");
  assert.ok(!chunks.some((chunk) => chunk.usage), "usage before the end");
  return usageOf(last.usage);
}

async function toolCall(act) {
  const answer = await ask(act, { tools: [TOOL] });
  checkCall(answer);
  return usageOf(answer.usage);
}

async function toolRoundTrip(act) {
  const tools = [{ ...TOOL, function: { ...TOOL.function, parse: JSON.parse, function: weather } }];
  const messages = [{ role: "user", content: act.prompt }];
  const runner = client(act).chat.completions.runTools({ model: act.model, messages, tools });
  assert.ok(await runner.finalContent());
  const [first, last] = runner.allChatCompletions();
  checkCall(first);
  checkWords(last);
  return usageOf(await runner.totalUsage());
}

async function imageInput(act) {
  const content = [
    { type: "text", text: act.prompt },
    { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
  ];
  const answer = await ask(act, { messages: [{ role: "user", content }] });
  checkWords(answer);
  return usageOf(answer.usage);
}

async function refused(act) {
  const refusal = await ask(act).then(
    () => assert.fail("it was answered"),
    (problem) => problem,
  );
  assert.equal(refusal.constructor, REFUSALS[act.status], refusal);
  assert.deepEqual([refusal.status, refusal.type, refusal.code], [act.status, act.type, act.code]);
  for (const [name, value] of Object.entries(act.headers)) assert.equal(refusal.headers.get(name), value);
  assert.ok(refusal.error.message.startsWith(act.message), refusal.message);
  assert.ok(refusal.requestID);
  return refusal.message;
}

async function brokenStream(act) {
  const pieces = [];
  try {
    for await (const chunk of await ask(act, { stream: true })) pieces.push(chunk);
  } catch (problem) {
    assert.ok(textOf(pieces), "nothing came before the break");
    assert.ok(problem instanceof OpenAI.APIError, problem);
    assert.deepEqual([problem.type, problem.code], [act.type, act.code]);
    return `${pieces.length} chunks, then ${problem.constructor.name}: ${problem.message}`;
  }
  assert.fail(`it seemed to end well after ${pieces.length} chunks`);
}

const TEXT = "Hello, world.";
const OTHER_SOUNDS = { opus: "audio/opus", aac: "audio/aac", flac: "audio/flac", wav: "audio/wav", pcm: "audio/pcm" };
const SOUNDS = { mp3: "audio/mpeg", ...OTHER_SOUNDS };
const VOICES = ["alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer", "verse"];
const FILE_BYTES_MOST = 25 * 1024 * 1024;
const TEXT_OPTIONS = { prompt: "Ada, Grace.", response_format: "json", temperature: 0.2 };
const IMAGE_OPTIONS = { n: 1, quality: "hd", size: "1792x1024", style: "natural", response_format: "url", user: "a" };
const NOT_JSON = ["text", "srt", "vtt", "verbose_json"];

// A second and a half of silence, and zeros behind it up to a size.
function recording(size = 24_044) {
  const file = Buffer.alloc(size);
  file.write("RIFF\x24\x5e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1");
  file.writeUInt32LE(8_000, 24);
  file.writeUInt32LE(16_000, 28);
  file.write("\x02\0\x10\0data", 32, "latin1");
  file.writeUInt32LE(24_000, 40);
  return file;
}

function speak(act, more = {}) {
  return client(act).audio.speech.create({ model: act.model, voice: "alloy", input: TEXT, ...more });
}

// By default a transcription; `audio` is the part of the SDK that is asked.
async function write(act, { name = "recording.wav", content = recording(), audio = "transcriptions", ...more } = {}) {
  const file = await toFile(content, name);
  return client(act).audio[audio].create({ model: act.model, file, ...more });
}

function translate(act, more = {}) {
  return write(act, { audio: "translations", ...more });
}

function draw(act, more = {}) {
  return client(act).images.generate({ model: act.model, prompt: "A toll gate at dawn.", ...more });
}

async function checkSound(spoken, format = "mp3") {
  assert.equal(spoken.headers.get("content-type"), SOUNDS[format]);
  const { byteLength } = await spoken.arrayBuffer();
  assert.ok(byteLength);
  return byteLength;
}

async function speechAsItComes(act) {
  const spoken = await speak(act, { voice: "nova", response_format: "pcm" });
  assert.equal(spoken.headers.get("content-type"), SOUNDS.pcm);
  const pieces = await Array.fromAsync(spoken.body);
  assert.ok(pieces.some((piece) => piece.length));
  return pieces.length;
}

function textOfWritten(written) {
  assert.equal(typeof written.text, "string");
  return written.text;
}

async function image(act) {
  const { created, data } = await draw(act);
  assert.equal(data.length, 1);
  assert.ok(data[0].url);
  return created;
}

async function imageWithOptions(act) {
  const { data } = await draw(act, IMAGE_OPTIONS);
  assert.equal(data.length, 1);
  assert.ok(data[0].url && data[0].revised_prompt);
  return data[0].revised_prompt;
}

async function imagesAsBase64(act) {
  const { data } = await draw(act, { n: 3, size: "256x256", response_format: "b64_json" });
  assert.equal(data.length, 3);
  assert.ok(data.every((drawn) => drawn.b64_json && !drawn.url));
  return data.map((drawn) => drawn.b64_json.length);
}

// Each of these calls, one after the other.
function each(values, call) {
  return async (act) => {
    const found = [];
    for (const value of values) found.push(await call(act, value));
    return found;
  };
}

// Each of these calls is refused, and tells all that a caller is to be told.
function allRefused(...calls) {
  return each(calls, async (act, call) => {
    const refusal = await call(act).then(
      () => assert.fail("it was answered"),
      (problem) => problem,
    );
    assert.ok(refusal instanceof OpenAI.APIError, refusal);
    assert.deepEqual([refusal.status, refusal.type, refusal.code], [act.status, act.type, act.code]);
    assert.ok(refusal.requestID);
    return refusal.message;
  });
}

function client(act) {
  return new OpenAI({ baseURL: act.base, apiKey: act.key });
}

function ask(act, more = {}) {
  return client(act).chat.completions.create({
    model: act.model,
    messages: [{ role: "user", content: act.prompt }],
    ...more,
  });
}

function checkWords(answer) {
  assert.equal(answer.choices.length, 1);
  assert.ok(answer.choices[0].message.content);
  assert.ok(!answer.choices[0].message.tool_calls?.length);
  assert.equal(answer.choices[0].finish_reason, "stop");
}

function checkCall(answer) {
  assert.equal(answer.choices.length, 1);
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
  const calls = answer.choices[0].message.tool_calls;
  assert.equal(calls.length, 1);
  assert.ok(calls[0].id);
  assert.equal(calls[0].function.name, "get_weather");
  weather(JSON.parse(calls[0].function.arguments));
}

function usageOf(usage) {
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
  return new Usage(usage.prompt_tokens, usage.completion_tokens);
}

function textOf(chunks) {
  return chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
}

await perform({
  plain,
  streamed,
  "streamed with usage": streamedWithUsage,
  "tool call": toolCall,
  "tool round trip": toolRoundTrip,
  "image input": imageInput,
  refused,
  cut: refused,
  "broken stream": brokenStream,
  speech: async (act) => checkSound(await speak(act)),
  "speech in every format": each(Object.keys(SOUNDS), async (act, name) =>
    checkSound(await speak(act, { response_format: name }), name),
  ),
  "speech in every voice": each(VOICES, async (act, voice) => checkSound(await speak(act, { voice }))),
  "speech at several speeds": each([0.25, 1, 4], async (act, speed) =>
    checkSound(await speak(act, { speed, stream_format: "audio" })),
  ),
  "speech as it comes": speechAsItComes,
  transcription: async (act) => textOfWritten(await write(act)),
  "transcription with every option": async (act) => textOfWritten(await write(act, { language: "en", ...TEXT_OPTIONS })),
  translation: async (act) => textOfWritten(await translate(act)),
  "translation with every option": async (act) => textOfWritten(await translate(act, TEXT_OPTIONS)),
  image,
  "image with every option": imageWithOptions,
  "images as base64": imagesAsBase64,
  "too large a file": allRefused(
    ...[write, translate].map((call) => (act) => call(act, { content: recording(FILE_BYTES_MOST + 1) })),
  ),
  "a file of another type": allRefused(
    (act) => write(act, { name: "recording.txt" }),
    (act) => write(act, { name: "recording.flac" }),
    (act) => write(act, { name: "recording.mp3", content: Buffer.from("No sound at all.\n".repeat(100)) }),
    (act) => write(act, { name: "recording.mp4" }),
  ),
  "a transcript that is not json": allRefused(
    ...[write, translate].flatMap((call) => NOT_JSON.map((name) => (act) => call(act, { response_format: name }))),
  ),
  "a speech that is not for sale": allRefused(
    ...[
      { voice: "nobody" },
      { response_format: "midi" },
      { speed: 0.2 },
      { speed: 4.1 },
      { input: "a".repeat(4_097) },
      { input: "" },
    ].map((more) => (act) => speak(act, more)),
  ),
  "an image that is not for sale": allRefused(
    ...[{ size: "333x333" }, { quality: "hd" }, { n: 11 }, { n: 0 }].map((more) => (act) => draw(act, more)),
  ),
  "two images of dall-e-3": allRefused((act) => draw(act, { n: 2 })),
  "a model for something else": allRefused(speak, write, translate, draw),
  "a wrong key for a speech": allRefused(speak),
  "a wrong key for a transcription": allRefused(write),
  "a wrong key for an image": allRefused(draw),
  "too little quota": allRefused(draw),
});
