// The `openai` package from npm: each check as a caller would write it, with default retries.

import assert from "node:assert/strict";
import OpenAI from "openai";
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
});
