/** User-visible strings of Team, Coverage. */
export const text = {
  title: 'Coverage',
  intro:
    'Which agents run the gate, by machine and account. Proven means that an event came with the agent’s version, the policy and the hooks that are there now.',
  limit:
    'Machines report this themselves. A machine without any hook reports nothing, and its rows keep their age.',
  empty: 'No machine has reported its agents. Connect them with',
}
