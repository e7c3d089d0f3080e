// What a request shows beside the exact thing and the usual buttons: a file of its own.
export { default as EditArguments } from './EditArguments.svelte'
export { default as Led } from './Led.svelte'
export { default as Questions } from './Questions.svelte'
export { default as Settled } from './Settled.svelte'
export { default as Unsent } from './Unsent.svelte'
