// The wire types of schema.ts, refined for the dashboard: events of the hub always have an
// id, and open values are JSON.

import type * as wire from './schema'

export type {
  Answer,
  Appeal,
  Consequence,
  Approvals,
  Delivery,
  DeliveryState,
  Execution,
  FilterOptions,
  Finding,
  Frame,
  PendingUndo,
  Hello,
  Kind,
  ViewingMessage,
  Me,
  Option,
  Overview,
  Person,
  Presence,
  Problem,
  FormQuestion,
  Response,
  Responder,
  Risk,
  RuleDraft,
  SignIn,
  Status,
  StatusChange,
  Token,
  Vote,
} from './schema'

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [key: string]: Json
}

export interface Event extends Omit<wire.Event, 'id' | 'payload' | 'humanInTheLoop'> {
  id: number
  payload: JsonObject
  humanInTheLoop?: HumanInTheLoop
}

export interface BatchResult extends Omit<wire.BatchResult, 'event'> {
  event?: Event
}

export interface HumanInTheLoop extends Omit<wire.HumanInTheLoop, 'toolCall' | 'suggestions'> {
  toolCall?: wire.ToolCall & { arguments?: Json }
  suggestions?: Json[]
}

/** The preview of a signed link: its request and its recipient. */
export interface LinkPreview {
  person: string
  expiresAt: number
  event: Event
}

export interface QuestionContext {
  before: Event[]
  earlier: Omit<wire.EarlierOutcomes, 'last'> & { last?: Event }
  result?: wire.CallResult
  collisions?: wire.Collision[]
}

/** A part of a history search: the matches up to `searchedTo`. */
export interface SearchResult extends Omit<wire.SearchResult, 'events'> {
  events: Event[]
}

/** The hub's limit of a bulk approval. */
export const MAX_APPROVALS = 100

export interface RulePreview extends Omit<wire.RulePreview, 'examples'> {
  examples: Event[]
}
