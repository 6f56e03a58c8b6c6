// Vercel's `ai` with its two providers for such gateways: each check as a caller would write it.

import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { PICTURE, Usage, perform, weather } from "../stage.mjs";

const QUESTION = { description: "The weather in a city", inputSchema: z.object({ city: z.string() }) };

async function plain(act, more = {}) {
  const answer = await generateText({ model: model(act), prompt: act.prompt, ...more });
  checkWords(answer);
  return usageOf(answer.usage);
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
  assert.equal(await answer.finishReason, "stop");
  return usageOf(await answer.usage);
}

async function toolCall(act) {
  const tools = { get_weather: tool(QUESTION) };
  const answer = await generateText({ model: model(act), prompt: act.prompt, tools });
  checkCall(answer);
  return usageOf(answer.usage);
}

async function toolRoundTrip(act) {
  const tools = { get_weather: tool({ ...QUESTION, execute: weather }) };
  const answer = await generateText({ model: model(act), prompt: act.prompt, tools, stopWhen: isStepCount(3) });
  assert.equal(answer.steps.length, 2);
  checkCall(answer.steps[0]);
  checkWords(answer.steps[1]);
  return usageOf(answer.totalUsage);
}

async function imageInput(act) {
  const content = [
    { type: "text", text: act.prompt },
    { type: "file", mediaType: "image/png", data: Buffer.from(PICTURE, "base64") },
  ];
  const answer = await generateText({ model: model(act), messages: [{ role: "user", content }] });
  checkWords(answer);
  return usageOf(answer.usage);
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

function checkWords(answer) {
  assert.ok(answer.text);
  assert.equal(answer.finishReason, "stop");
  assert.equal(answer.toolCalls.length, 0);
}

function checkCall(answer) {
  assert.equal(answer.finishReason, "tool-calls");
  assert.equal(answer.toolCalls.length, 1);
  const call = answer.toolCalls[0];
  assert.equal(call.toolName, "get_weather");
  assert.ok(!call.invalid, call.error);
  weather(call.input);
}

function usageOf(usage) {
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
  return new Usage(usage.inputTokens, usage.outputTokens);
}

await perform({
  plain,
  streamed,
  "streamed with usage": streamedWithUsage,
  "tool call": toolCall,
  "tool round trip": toolRoundTrip,
  "image input": imageInput,
  refused,
  cut,
  "broken stream": brokenStream,
});
