// A person approves each call of an OpenAI Agents SDK tool with needsApproval.
import { Agent, run, setOpenAIAPI, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";

const { HOOKBACK_URL: hub = "http://127.0.0.1:4000", HOOKBACK_TIMEOUT: timeout = 300 } = process.env;
const ask = async (body) => (await fetch(hub + "/ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

setOpenAIAPI("chat_completions");
setTracingDisabled(true);
const deleteFolder = tool({
  name: "delete_folder",
  description: "Deletes a folder",
  parameters: z.object({ path: z.string() }),
  needsApproval: true,
  execute: async ({ path }) => `deleted ${path}`,
});
const agent = new Agent({ name: "Cleaner", model: "gpt-5", tools: [deleteFolder] });

let result = await run(agent, "Free some space.");
while (result.interruptions.length > 0) {
  for (const call of result.interruptions) {
    const toolCall = { name: call.name, arguments: JSON.parse(call.arguments) };
    const answer = await ask({ question: `Run ${call.name}?`, toolCall, timeout: Number(timeout) });
    if (answer.permission === true) result.state.approve(call);
    else result.state.reject(call, { message: answer.guidance ?? "No one approved this." });
  }
  result = await run(agent, result.state);
}
console.log(result.finalOutput);
