// The `openai` package from npm: each check as a caller would write it, with default retries.

import assert from "node:assert/strict";
import OpenAI from "openai";
import { PICTURE, perform } from "../stage.mjs";

const TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const REFUSALS = {
  401: OpenAI.AuthenticationError,
  403: OpenAI.PermissionDeniedError,
  404: OpenAI.NotFoundError,
  524: OpenAI.InternalServerError,
};

async function plain(act) {
  const answer = await ask(act);
  assert.ok(answer.choices[0].message.content);
  assert.equal(answer.choices[0].finish_reason, "stop");
  assert.equal(answer.usage.completion_tokens, act.tokens);
  return answer.usage.total_tokens;
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
  assert.ok(textOf(chunks));
  assert.equal(chunks.at(-1).usage.completion_tokens, act.tokens);
  return chunks.at(-1).usage.total_tokens;
}

async function toolCall(act) {
  const answer = await ask(act, { tools: [TOOL] });
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
  assert.equal(answer.choices[0].message.tool_calls.length, 1);
  const call = answer.choices[0].message.tool_calls[0];
  assert.equal(call.function.name, "get_weather");
  return JSON.stringify(JSON.parse(call.function.arguments));
}

async function imageInput(act) {
  const content = [
    { type: "text", text: act.prompt },
    { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
  ];
  const answer = await ask(act, { messages: [{ role: "user", content }] });
  assert.ok(answer.choices[0].message.content);
  return answer.choices[0].message.content;
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

function ask(act, more = {}) {
  const client = new OpenAI({ baseURL: act.base, apiKey: act.key });
  return client.chat.completions.create({
    model: act.model,
    messages: [{ role: "user", content: act.prompt }],
    ...more,
  });
}

function textOf(chunks) {
  return chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
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
  cut: refused,
  "broken stream": brokenStream,
});
