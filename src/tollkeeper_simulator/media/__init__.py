"""Images, speech, transcripts: what OpenAI and Azure answer beside chat."""
