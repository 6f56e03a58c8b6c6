// Vercel's `ai` with its two providers for such gateways: each check as a caller would write it.

import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, streamText, tool } from "ai";
import { z } from "zod";
import { PICTURE, perform } from "../stage.mjs";

const TOOLS = {
  get_weather: tool({ description: "The weather in a city", inputSchema: z.object({ city: z.string() }) }),
};

async function plain(act, more = {}) {
  const answer = await generateText({ model: model(act), prompt: act.prompt, ...more });
  assert.ok(answer.text);
  assert.equal(answer.finishReason, "stop");
  assert.equal(answer.usage.outputTokens, act.tokens);
  return answer.usage.totalTokens;
}

async function streamed(act) {
  const answer = streamText({ model: model(act), prompt: act.prompt });
  const pieces = await Array.fromAsync(answer.textStream);
  assert.ok(pieces.join(""));
  assert.equal(await answer.finishReason, "stop");
  assert.equal((await answer.usage).outputTokens, undefined, "usage that was not asked for");
  return pieces.length;
}

async function streamedWithUsage(act) {
  // The other provider people use: it always asks for usage, and without `.chat` it would call /responses.
  const provider = createOpenAI({ baseURL: act.base, apiKey: act.key });
  const answer = streamText({ model: provider.chat(act.model), prompt: act.prompt });
  assert.ok(await answer.text);
  const usage = await answer.usage;
  assert.equal(usage.outputTokens, act.tokens);
  return usage.totalTokens;
}

async function toolCall(act) {
  const answer = await generateText({ model: model(act), prompt: act.prompt, tools: TOOLS });
  assert.equal(answer.finishReason, "tool-calls");
  assert.equal(answer.toolCalls.length, 1);
  assert.equal(answer.toolCalls[0].toolName, "get_weather");
  assert.ok(!answer.toolCalls[0].invalid, answer.toolCalls[0].error);
  return JSON.stringify(answer.toolCalls[0].input);
}

async function imageInput(act) {
  const content = [
    { type: "text", text: act.prompt },
    { type: "file", mediaType: "image/png", data: Buffer.from(PICTURE, "base64") },
  ];
  const answer = await generateText({ model: model(act), messages: [{ role: "user", content }] });
  assert.ok(answer.text);
  return answer.text;
}

async function refused(act, more = {}) {
  const refusal = await plain(act, more).then(
    () => assert.fail("it was answered"),
    (problem) => problem,
  );
  assert.ok(APICallError.isInstance(refusal), refusal);
  const { type, code } = refusal.data.error;
  assert.deepEqual([refusal.statusCode, type, code], [act.status, act.type, act.code]);
  for (const [name, value] of Object.entries(act.headers)) assert.equal(refusal.responseHeaders[name], value);
  assert.ok(refusal.message.startsWith(act.message), refusal.message);
  assert.ok(refusal.responseHeaders["x-request-id"]);
  return refusal.message;
}

async function cut(act) {
  // `ai` tries every 5xx again, whatever `x-should-retry` says, and the call that was cut goes on and is paid.
  return refused(act, { maxRetries: 0 });
}

async function brokenStream(act) {
  // `textStream` ends and `text` resolves as if all were well: only `onError`, `stream` and `finishReason` tell.
  const problems = [];
  const answer = streamText({ model: model(act), prompt: act.prompt, onError: ({ error }) => problems.push(error) });
  const pieces = await Array.fromAsync(answer.textStream);
  assert.ok(pieces.join(""), "nothing came before the break");
  assert.deepEqual(problems.map(({ type, code }) => [type, code]), [[act.type, act.code]]);
  assert.equal(await answer.finishReason, "error");
  return `${pieces.length} pieces, then ${problems[0]}`;
}

function model(act) {
  return createOpenAICompatible({ name: "tollkeeper", baseURL: act.base, apiKey: act.key })(act.model);
}

await perform({
  plain,
  streamed,
  "streamed with usage": streamedWithUsage,
  "tool call": toolCall,
  "image input": imageInput,
  "wrong key": refused,
  "unknown model": refused,
  "insufficient quota": refused,
  cut,
  "broken stream": brokenStream,
});
