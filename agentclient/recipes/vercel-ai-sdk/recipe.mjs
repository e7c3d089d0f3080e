// A person approves each call of a Vercel AI SDK tool with needsApproval.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const { HOOKBACK_URL: hub = "http://127.0.0.1:4000", HOOKBACK_TIMEOUT: timeout = 300, OPENAI_BASE_URL: baseURL } = process.env;
const ask = async (body) => (await fetch(hub + "/ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

const model = createOpenAICompatible({ name: "openai", baseURL })("gpt-5");
const description = "Deletes a folder";
const execute = ({ path }) => `deleted ${path}`;
const tools = { delete_folder: tool({ description, inputSchema: z.object({ path: z.string() }), needsApproval: true, execute }) };
const messages = [{ role: "user", content: "Free some space." }];

for (let requests = [null]; requests.length > 0; ) {
  const result = await generateText({ model, tools, messages, stopWhen: stepCountIs(5) });
  messages.push(...result.response.messages);
  requests = result.content.filter((part) => part.type === "tool-approval-request");
  const content = [];
  for (const { approvalId, toolCall } of requests) {
    const call = { name: toolCall.toolName, arguments: toolCall.input };
    const answer = await ask({ question: `Run ${call.name}?`, toolCall: call, timeout: Number(timeout) });
    content.push({ type: "tool-approval-response", approvalId, approved: answer.permission === true, reason: answer.guidance ?? "No one approved this." });
  }
  if (content.length > 0) messages.push({ role: "tool", content });
  else console.log(result.text);
}
