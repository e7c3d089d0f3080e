// Generated from schema/testdata by go run ./schema/gen. Do not edit.

// prettier-ignore
import type { Ack, AgentApproval, Alert, AlertList, AlertRule, AlertRuleList, Answer, Approval, Approvals, ApproveCall, AutomaticPage, BatchResult, CallReport, Cancel, ChallengeRequest, Channel, ChannelDraft, ChannelFilter, ChannelTestResult, ChatAccounts, ChatCode, Confirmation, Control, CoverageList, CredentialAction, Envelope, Event, Extend, FilterOptions, Frame, Freeze, FreezeDraft, FreezeList, Health, Hello, HitlCancel, HitlPage, HitlRequest, HitlStats, HitlVote, HubKey, HumanInTheLoop, ImportedSession, LedgerEntry, Link, LinkPreview, LinkVote, LockState, MachineReport, Me, Message, MessageDraft, MessagesChanged, NotificationSettings, NowReport, OTLPResponse, Overview, PairingCode, Passkey, PasskeyDraft, PasskeyOptions, Person, PersonDraft, PolicyLine, PolicyList, PolicyReport, Presence, Problem, PushKey, PushMessage, PushSubscription, QuestionContext, RPC, Reach, ReachSettings, Receipt, RejectCall, Replay, ReplayDraft, Report, RequestDefaults, Response, RiskyCalls, Rule, RuleDraft, RulePreview, Safety, SafetySettings, SearchResult, SessionDetail, SessionFiles, SessionPage, Share, ShareDraft, SharedSession, SignIn, SignInRequest, SignInResult, SpendReport, Status, StatusChange, TestDenial, TestRequest, TestTicket, Token, TokenDraft, ViewingMessage, WaitStatus } from './schema'

// prettier-ignore
export const v1AnswerChoice = {"choice":"Vitest","respondedAt":1734189245000,"hookEvent":{"id":9678,"source_app":"my-agent","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":"framework","question":"Which testing framework?"},"timestamp":1734189234000,"humanInTheLoop":{"question":"Which testing framework?","type":"choice","choices":["Jest","Vitest","Mocha"]}}} satisfies Answer

// prettier-ignore
export const v1AnswerPermissionDenied = {"permission":false,"respondedAt":1734189245000,"hookEvent":{"id":9676,"source_app":"my-agent","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":"delete_files","question":"Delete 500 old records?"},"timestamp":1734189234000,"humanInTheLoop":{"question":"Delete 500 old records?","type":"permission"}}} satisfies Answer

// prettier-ignore
export const v1AnswerPermission = {"permission":true,"respondedAt":1734189245000,"hookEvent":{"id":9675,"source_app":"big-three-agents: alice","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":"env_file_access","question":"May I access .env files..."},"timestamp":1734189234000,"humanInTheLoop":{"question":"May I access .env files...","responseWebSocketUrl":"ws://localhost:50123","type":"permission","timeout":300,"requiresResponse":true}}} satisfies Answer

// prettier-ignore
export const v1AnswerQuestion = {"response":"Use snake_case for functions","respondedAt":1734189245000,"hookEvent":{"id":9677,"source_app":"my-agent","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":"naming","question":"What naming convention should I use?"},"timestamp":1734189234000,"humanInTheLoop":{"question":"What naming convention should I use?","type":"question"}}} satisfies Answer

// prettier-ignore
export const v1EventPending = {"id":9675,"source_app":"big-three-agents: alice","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":"env_file_access","question":"May I access .env files in the working directory?"},"timestamp":1734189234000,"summary":"🔐 env_file_access: May I access .env files...","humanInTheLoop":{"question":"May I access .env files in the working directory?","type":"permission","timeout":300,"requiresResponse":true},"humanInTheLoopStatus":{"status":"pending"}} satisfies Event

// prettier-ignore
export const v1EventResponded = {"id":9675,"source_app":"big-three-agents: alice","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{"agent_name":"alice","permission_type":"env_file_access","question":"May I access .env files in the working directory?"},"timestamp":1734189234000,"humanInTheLoop":{"question":"May I access .env files in the working directory?","type":"permission","timeout":300},"humanInTheLoopStatus":{"status":"responded","respondedAt":1734189245000,"response":{"permission":true,"respondedAt":1734189245000}}} satisfies Event

// prettier-ignore
export const v1FilterOptionsValues = {"source_apps":["big-three-agents: alice","my-agent"],"session_ids":["session-123"],"hook_event_types":["DecisionPoint","PostToolUse"],"tool_names":["Bash"]} satisfies FilterOptions

// prettier-ignore
export const v1FrameEvent = {"type":"event","data":{"id":3,"source_app":"my-agent","session_id":"session-123","hook_event_type":"Stop","payload":{"stop_hook_active":false},"timestamp":1734189235000}} satisfies Frame

// prettier-ignore
export const v1FrameInitial = {"type":"initial","data":[{"id":1,"source_app":"my-agent","session_id":"session-123","hook_event_type":"SessionStart","payload":{"source":"startup"},"timestamp":1734189234000},{"id":2,"source_app":"my-agent","session_id":"session-123","hook_event_type":"DecisionPoint","payload":{},"timestamp":1734189234500,"humanInTheLoop":{"question":"Delete 500 old records?","type":"permission"},"humanInTheLoopStatus":{"status":"pending"}}]} satisfies Frame

// prettier-ignore
export const v1HumanInTheLoopChoice = {"type":"choice","question":"Which testing framework?","choices":["Jest","Vitest","Mocha"]} satisfies HumanInTheLoop

// prettier-ignore
export const v1HumanInTheLoopPermission = {"type":"permission","question":"Delete 500 old records?"} satisfies HumanInTheLoop

// prettier-ignore
export const v1HumanInTheLoopQuestion = {"type":"question","question":"What naming convention should I use?"} satisfies HumanInTheLoop

// prettier-ignore
export const v1HumanInTheLoopSnakeCase = {"question":"Deploy?\n\nThis goes to production.","responseWebSocketUrl":"ws://127.0.0.1:50123","type":"permission","timeout":0,"requiresResponse":false} satisfies HumanInTheLoop

// prettier-ignore
export const v1ResponseChoice = {"choice":"Vitest"} satisfies Response

// prettier-ignore
export const v1ResponseFromAPage = {"permission":true} satisfies Response

// prettier-ignore
export const v1ResponsePermissionDenied = {"permission":false} satisfies Response

// prettier-ignore
export const v1ResponsePermission = {"permission":true} satisfies Response

// prettier-ignore
export const v1ResponseQuestion = {"response":"Use snake_case for functions"} satisfies Response

// prettier-ignore
export const v1StatusError = {"status":"error"} satisfies Status

// prettier-ignore
export const v1StatusPending = {"status":"pending"} satisfies Status

// prettier-ignore
export const v1StatusTimeout = {"status":"timeout"} satisfies Status

// prettier-ignore
export const v2AckAccepted = {"type":"ack","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081","result":"accepted"} satisfies Ack

// prettier-ignore
export const v2AckDuplicate = {"type":"ack","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081","result":"duplicate"} satisfies Ack

// prettier-ignore
export const v2AckMismatch = {"type":"ack","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081","result":"mismatch"} satisfies Ack

// prettier-ignore
export const v2AckPlain = {"type":"ack","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081"} satisfies Ack

// prettier-ignore
export const v2AckTooLate = {"type":"ack","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081","result":"too_late"} satisfies Ack

// prettier-ignore
export const v2AckUntrusted = {"type":"ack","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081","result":"untrusted"} satisfies Ack

// prettier-ignore
export const v2AgentApprovalApproved = {"approvalId":"17","approved":true} satisfies AgentApproval

// prettier-ignore
export const v2AgentApprovalConfirmed = {"approvalId":"17","decision_type":"confirm"} satisfies AgentApproval

// prettier-ignore
export const v2AgentApprovalDenied = {"approvalId":"17","approved":false,"reason":"User cancelled"} satisfies AgentApproval

// prettier-ignore
export const v2AlertOpen = {"id":7,"rule":2,"kind":"errors","source_app":"api-refactor","session_id":"s-1","evidence":"12 of the last 20 calls failed.","opened_at":1795262800000} satisfies Alert

// prettier-ignore
export const v2AlertListBoth = {"open":[{"id":7,"rule":2,"kind":"errors","source_app":"api-refactor","session_id":"s-1","evidence":"12 of the last 20 calls failed.","opened_at":1795262800000}],"closed":[{"id":3,"rule":1,"kind":"spend","person":"ada","evidence":"ada spent $12.40 of $10 in 24 hours.","opened_at":1795262800000,"closed_at":1795262900000}]} satisfies AlertList

// prettier-ignore
export const v2AlertRuleSpend = {"id":0,"kind":"spend","minutes":1440,"usd":10,"per":"person"} satisfies AlertRule

// prettier-ignore
export const v2AlertRuleListAllKinds = {"rules":[{"id":1,"kind":"stuck","source_app":"api-refactor","minutes":15},{"id":2,"kind":"errors","percent":50,"calls":20},{"id":3,"kind":"loop","calls":8,"failures":5},{"id":4,"kind":"spend","minutes":1440,"usd":10,"per":"person"}]} satisfies AlertRuleList

// prettier-ignore
export const v2AnswerAskBack = {"permission":false,"askBack":"Why a force push?","respondedAt":1734189245000,"outcome":"deny","source":"human"} satisfies Answer

// prettier-ignore
export const v2AnswerByRule = {"permission":false,"reason":"Never on Fridays.","respondedAt":1795262400004,"respondedBy":{"name":"rule 4","verified":true,"via":"rule"},"outcome":"deny","source":"rule","rule":{"id":4,"text":"Deny exactly this call of Bash, until it is revoked"}} satisfies Answer

// prettier-ignore
export const v2AnswerCancelled = {"reason":"The session has ended.","respondedAt":1734189354000,"outcome":"__cancelled__","source":"session_end"} satisfies Answer

// prettier-ignore
export const v2AnswerDenied = {"permission":false,"reason":"Take a backup first.","respondedAt":1734189245000,"outcome":"deny","source":"human","guidance":"A person refused this. Nothing ran."} satisfies Answer

// prettier-ignore
export const v2AnswerEdited = {"permission":true,"comment":"Only the backup table.","modifiedArguments":{"command":"psql \"$STAGING_URL\" -c 'DROP TABLE IF EXISTS orders_old'"},"respondedAt":1734189245000,"respondedBy":{"name":"someone on this machine","verified":false},"outcome":"approve","source":"human","guidance":"A person approved this call with changed arguments: run it with modifiedArguments.","hookEvent":{"id":7,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e0f","source_app":"shop-api","session_id":"s","hook_event_type":"PermissionRequest","payload":{"tool_name":"Bash"},"timestamp":1734189234000},"answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7081","attempt":1} satisfies Answer

// prettier-ignore
export const v2AnswerInterrupt = {"permission":false,"reason":"Stop: wrong branch.","interrupt":true,"respondedAt":1734189245000,"outcome":"deny","source":"human"} satisfies Answer

// prettier-ignore
export const v2AnswerRemembered = {"permission":true,"remember":{"type":"setMode","mode":"acceptEdits","destination":"session"},"respondedAt":1734189245000,"outcome":"approve","source":"human"} satisfies Answer

// prettier-ignore
export const v2AnswerSelfApproved = {"permission":true,"respondedAt":1734189245000,"respondedBy":{"name":"someone on this machine","verified":false,"possibleSelfApproval":true},"outcome":"approve","source":"human"} satisfies Answer

// prettier-ignore
export const v2AnswerSeveralQuestions = {"answers":{"database":"SQLite","extras":["Migrations"],"notes":"Keep the old ids."},"respondedAt":1734189245000,"respondedBy":{"name":"mara","verified":true},"outcome":"answered","source":"human","answerId":"0193c5f8-9a11-7b02-8c55-2a9d4e6f7082","attempt":2} satisfies Answer

// prettier-ignore
export const v2AnswerSigned = {"permission":true,"respondedAt":1734189245000,"outcome":"approve","source":"human","answerId":"0198f2a4-0000-7000-8000-000000000003","seal":{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":"ea4a6c63e29c520a","sig":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw=="}]}} satisfies Answer

// prettier-ignore
export const v2AnswerTimeout = {"permission":false,"respondedAt":1734189354000,"outcome":"__timeout__","source":"timeout","guidance":"Nobody answered in time. That is not a refusal; nothing ran."} satisfies Answer

// prettier-ignore
export const v2AnswerTruncated = {"permission":true,"respondedAt":1734189245000,"outcome":"approve","source":"human","hookEvent":{"id":9,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e13","source_app":"shop-api","session_id":"s","hook_event_type":"PermissionRequest","payload":{"agent_name":"alice","permission_type":"env_file_access"},"timestamp":1734189234000},"hookEventTruncated":true} satisfies Answer

// prettier-ignore
export const v2AnswerVoted = {"permission":true,"respondedAt":1795262410000,"respondedBy":{"name":"grace","verified":true,"via":"session","passkey":true},"outcome":"approve","source":"quorum","votes":[{"user":"ada","choice":"approve","at":1795262403000},{"user":"grace","choice":"approve","comment":"Go.","at":1795262410000,"passkey":true}],"awaiting":["linus"],"requiredApprovals":2} satisfies Answer

// prettier-ignore
export const v2ApprovalRefund = {"id":"17","toolName":"process_refund","arguments":{"orderId":"1234","amount":50000},"requestedAt":"2026-02-10T14:30:00Z","sessionId":"session-456","userPrompt":"Refund order #1234","message":"Run process_refund?"} satisfies Approval

// prettier-ignore
export const v2ApprovalsSeen = {"requests":[{"id":41,"revision":1},{"id":44,"revision":2}],"holdMs":5000,"reason":"Routine"} satisfies Approvals

// prettier-ignore
export const v2ApproveCallEdited = {"modifiedArguments":{"orderId":"1234","amount":25000}} satisfies ApproveCall

// prettier-ignore
export const v2ApproveCallProved = {"proof":{"id":"AQIDBA","type":"public-key","response":{"signature":"MEUCIQ"}}} satisfies ApproveCall

// prettier-ignore
export const v2AutomaticPageOne = {"answers":[{"event":41,"source_app":"shop","session_id":"s-1","tool":"Bash","title":"Run npm test","risk":"low","rule":{"id":3,"text":"Allow Bash when command starts with \"npm test\", for all agents, until it is revoked"},"author":"ada","active":true,"then":"allow","at":1795262300000}],"next":41} satisfies AutomaticPage

// prettier-ignore
export const v2BatchResultsMixed = [{"event":{"id":21,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e12","source_app":"shop-api","session_id":"s","hook_event_type":"PreToolUse","payload":{"tool_name":"Bash"},"timestamp":1734189234000}},{"problem":{"type":"about:blank","title":"Bad Request","status":400,"detail":"session_id is required and must be a non-empty string","code":"invalid","field":"session_id","error":"session_id is required and must be a non-empty string"}}] satisfies BatchResult[]

// prettier-ignore
export const v2CallReportFailed = {"state":"failed","durationMs":1200,"error":"exit status 1","requestSecret":"c2VjcmV0"} satisfies CallReport

// prettier-ignore
export const v2CancelAgent = {"reason":"The run was stopped.","requestSecret":"vN8xgk3Yw2qPq0c5bF7uYy1mS9T4hJ6dLr0aZe2oXiE"} satisfies Cancel

// prettier-ignore
export const v2CancelGroup = {"reason":"Not now.","revision":4} satisfies Cancel

// prettier-ignore
export const v2CancelPerson = {"reason":"Superseded by the new plan."} satisfies Cancel

// prettier-ignore
export const v2ChallengeRequestApprove = {"id":12,"response":{"permission":true,"comment":"Checked the list.","revision":2}} satisfies ChallengeRequest

// prettier-ignore
export const v2ChannelTelegram = {"id":4,"name":"on-call","kind":"telegram","address":"telegram://…","detail":"brief","filter":{"owners":["@shop/payments"]},"createdAt":1767323045000,"createdBy":"ada","bot":"hookback_ada_bot","noAnswers":"Another program reads the messages of this bot. Give the hub a bot for itself, then add the channel again."} satisfies Channel

// prettier-ignore
export const v2ChannelWebhook = {"id":3,"name":"our own service","kind":"webhook","address":"https://ops.example.com","person":"Anna","createdAt":1795262400000,"createdBy":"Anna","secret":"whsec_c2lnbmVkIHdpdGggdGhpcywgc2hvd24gb25jZSE=","paused":1795262700000} satisfies Channel

// prettier-ignore
export const v2ChannelDraftNtfy = {"name":"Anna's phone","url":"ntfy://ntfy.example.com/hookback-anna","person":"Anna","detail":"brief"} satisfies ChannelDraft

// prettier-ignore
export const v2ChannelFilterPayments = {"projects":["shop"],"paths":["payments/*"],"agents":["claude*"],"risk":"high","owners":["@shop/payments","grace"]} satisfies ChannelFilter

// prettier-ignore
export const v2ChannelTestResultFailed = {"state":"failed","error":"the other side answered 404 Not Found"} satisfies ChannelTestResult

// prettier-ignore
export const v2ChatAccountsLinked = {"accounts":[{"kind":"telegram","account":"1001","label":"@ada","linkedAt":1767323045000}],"bots":[{"kind":"telegram","name":"hookback_ada_bot"}]} satisfies ChatAccounts

// prettier-ignore
export const v2ChatCodeCreated = {"code":"K7QWZ3M5T2XPLB6NDRVY4GHJAC","expiresAt":1767323645000,"bots":[{"kind":"telegram","name":"hookback_ada_bot"},{"kind":"slack","name":"hookback"}]} satisfies ChatCode

// prettier-ignore
export const v2ConfirmationProof = {"proof":{"id":"a2V5","rawId":"a2V5","type":"public-key","response":{"clientDataJSON":"e30","authenticatorData":"AA","signature":"AA"}}} satisfies Confirmation

// prettier-ignore
export const v2ControlDeadline = {"type":"control","kind":"deadline","expiresAt":1795263000000,"inSeconds":900.5} satisfies Control

// prettier-ignore
export const v2CoverageListLaptop = {"agents":[{"host":"laptop","account":"ada","agent":"claude-code","state":"proven","version":"2.1.332","client":"v0.9.1","reportedAt":1795262900000,"provenAt":1795262800000},{"host":"laptop","account":"ada","agent":"gemini","state":"off","reported":"~/.gemini/settings.json: no hook for BeforeTool","remedy":"hookback install --agent gemini","version":"0.31.0","reportedAt":1795262900000}]} satisfies CoverageList

// prettier-ignore
export const v2CredentialActionReset = {"do":"reset","target":"grace"} satisfies CredentialAction

// prettier-ignore
export const v2EnvelopeHead = {"payloadType":"application/vnd.hookback.head+json","payload":"eyJodWIiOiIwYzZmN2EzZS01ZDBlLTRkNWUtOWQwYi03YjFmM2E3YzJlMTEiLCJuIjoxMjM0LCJoYXNoIjoiMjc1NDVhNmMzZjBiN2E5ZDVjMWU4ZjJiNGE2ZDljMGUxZjNiNWE3ZDljMmU0ZjYwODFhM2M1ZTcwOTJiNGQ2ZiIsImF0IjoxNzk1MjYyNDAzMDAwfQ==","signatures":[{"keyid":"6f283a0f77522587","sig":"e492YXmxGF+s+ywxMc2kxA+Ul/klXh1ClKI5T0hgGwrDDUkGqXFfKJd6mAuuC2ODtfnrN36y8wUotVV2DvD9AA=="}]} satisfies Envelope

// prettier-ignore
export const v2EventCancelled = {"id":43,"source_app":"release-bot","session_id":"s-7","hook_event_type":"DecisionPoint","payload":{},"humanInTheLoop":{"question":"Deploy build 1842 to production?","type":"permission"},"humanInTheLoopStatus":{"status":"error","respondedAt":1795000060000,"outcome":"__cancelled__","source":"cancel","reason":"handled by phone","respondedBy":{"name":"ada","verified":true,"via":"session"},"revision":2}} satisfies Event

// prettier-ignore
export const v2EventDenied = {"id":17,"source_app":"support-bot","session_id":"session-456","hook_event_type":"DecisionPoint","payload":{},"humanInTheLoop":{"question":"Run process_refund?","type":"permission","toolCall":{"name":"process_refund","arguments":{"orderId":"1234","amount":50000}}},"humanInTheLoopStatus":{"status":"responded","respondedAt":1795000060000,"response":{"permission":false,"reason":"This order was already refunded","respondedAt":1795000060000,"outcome":"deny"},"outcome":"deny","source":"human","reason":"This order was already refunded","respondedBy":{"name":"ada","verified":true,"via":"session"},"revision":2}} satisfies Event

// prettier-ignore
export const v2EventPosted = {"id":7,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e0f","source_app":"shop-api","session_id":"s","hook_event_type":"PermissionRequest","payload":{"tool_name":"Bash"},"agent":"claude-code","os_user":"ada","user_email":"ada@example.com","tokenOwner":"ada","timestamp":1734189234000,"humanInTheLoop":{"question":"Run go test ./...?","type":"permission","timeout":120,"protocolVersion":2,"lifeline":true,"alsoAsked":true},"humanInTheLoopStatus":{"status":"pending","expiresAt":1734189354000,"revision":1,"waiter":"listening"},"requestSecret":"vN8xgk3Yw2qPq0c5bF7uYy1mS9T4hJ6dLr0aZe2oXiE","watching":1} satisfies Event

// prettier-ignore
export const v2EventQuorum = {"id":12,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e10","source_app":"deployer","session_id":"release-7","hook_event_type":"DecisionPoint","payload":{"agent_name":"deployer"},"timestamp":1734189234000,"humanInTheLoop":{"question":"Ship release 7?","type":"choice","choices":["ship_it","needs_revision","abandon"],"timeout":3600,"requiredApprovals":2,"recipients":{"mode":"selected_members","members":["mara","jun","ola"]},"reminderIntervalSeconds":600,"reminderMaxCount":3},"humanInTheLoopStatus":{"status":"pending","expiresAt":1734192834000,"revision":2,"requiredApprovals":2,"votes":[{"user":"mara","choice":"ship_it","comment":"Green for two days.","at":1734189300000}],"awaiting":["jun","ola"],"waiter":"listening"}} satisfies Event

// prettier-ignore
export const v2EventTruncated = {"id":8,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e11","source_app":"shop-api","session_id":"s","hook_event_type":"PermissionRequest","payload":{},"timestamp":1734189234000,"humanInTheLoop":{"question":"Write the report?","type":"permission","toolCall":{"name":"Write","arguments":{"content":"# Report …"}}},"humanInTheLoopStatus":{"status":"pending"},"payloadTruncated":true,"payloadBytes":131072,"questionTruncated":true} satisfies Event

// prettier-ignore
export const v2ExtendQuarter = {"seconds":900} satisfies Extend

// prettier-ignore
export const v2FrameAlert = {"type":"alert","data":[{"id":7,"rule":2,"kind":"errors","source_app":"api-refactor","session_id":"s-1","evidence":"12 of the last 20 calls failed.","opened_at":1795262800000}]} satisfies Frame

// prettier-ignore
export const v2FrameAllowance = {"type":"allowance","data":[{"id":7,"then":"allow","text":"Allow harmless calls, in the session f3a91c07 of api-refactor, for 15 minutes or until the session ends","scope":"session","tool":"","source_app":"api-refactor","session_id":"f3a91c07","from":42,"createdAt":1795262400000,"createdBy":"ada","expiresAt":1795263300000,"uses":0}]} satisfies Frame

// prettier-ignore
export const v2FrameEvent = {"type":"event","seq":42,"data":{"id":42,"uid":"0193c5f8-6d0a-7c3e-9a41-5f2b8c7d6e14","source_app":"shop-api","session_id":"s","hook_event_type":"PermissionRequest","payload":{"tool_name":"Bash"},"timestamp":1734189234000,"humanInTheLoop":{"question":"Go on?","type":"permission"},"humanInTheLoopStatus":{"status":"pending","expiresAt":1734189534000,"revision":1}}} satisfies Frame

// prettier-ignore
export const v2FrameFreeze = {"type":"freeze","data":[{"id":3,"scope":"all","by":"Ada","reason":"prod incident","created_at":1734189245000}]} satisfies Frame

// prettier-ignore
export const v2FrameHeartbeat = {"type":"heartbeat","data":{"serverTime":1734189245000}} satisfies Frame

// prettier-ignore
export const v2FrameHello = {"type":"hello","data":{"hubId":"0193c5f8-0000-7000-8000-000000000001","seq":41,"serverTime":1734189234000,"version":"0.1.0"}} satisfies Frame

// prettier-ignore
export const v2FrameMessage = {"type":"message","data":{"source_app":"shop-api","session_id":"s1"}} satisfies Frame

// prettier-ignore
export const v2FramePresence = {"type":"presence","data":{"screens":2,"looking":[{"id":41,"screens":2,"people":["grace"]}]}} satisfies Frame

// prettier-ignore
export const v2FrameResync = {"type":"resync","data":{"hubId":"0193c5f8-0000-7000-8000-000000000002","seq":3,"serverTime":1734189234000,"version":"0.1.0"}} satisfies Frame

// prettier-ignore
export const v2FrameStatus = {"type":"status","seq":43,"data":{"id":42,"humanInTheLoopStatus":{"status":"responded","respondedAt":1734189245000,"outcome":"approve","source":"human","revision":2,"delivery":{"state":"queued","attempts":0}}}} satisfies Frame

// prettier-ignore
export const v2FramesJoined = [{"type":"event","seq":44,"data":{"id":44,"source_app":"shop-api","session_id":"s","hook_event_type":"Stop","payload":{},"timestamp":1734189234000}},{"type":"status","seq":45,"data":{"id":42,"humanInTheLoopStatus":{"status":"responded","revision":3,"delivery":{"state":"acked","attempts":1}}}}] satisfies Frame[]

// prettier-ignore
export const v2FreezeActive = {"id":3,"scope":"all","by":"Ada","reason":"prod incident","created_at":1734189245000} satisfies Freeze

// prettier-ignore
export const v2FreezeLifted = {"id":2,"scope":"session","by":"Ada","reason":"prod incident","created_at":1734189245000,"source_app":"shop-api","session_id":"4b7293f1","lifted_at":1734189300000,"lifted_by":"Bo"} satisfies Freeze

// prettier-ignore
export const v2FreezeDraftAll = {"scope":"all","reason":"prod incident"} satisfies FreezeDraft

// prettier-ignore
export const v2FreezeDraftSession = {"scope":"session","source_app":"shop-api","session_id":"4b7293f1"} satisfies FreezeDraft

// prettier-ignore
export const v2FreezeListActive = {"freezes":[{"id":3,"scope":"all","by":"Ada","reason":"prod incident","created_at":1734189245000}],"stopped":4,"finishing":2,"uncontrolled":1,"unchecked":3,"ended":[4]} satisfies FreezeList

// prettier-ignore
export const v2HealthDegraded = {"status":"degraded","detail":"The disk is full: questions and answers are still stored, plain events are refused.","version":"0.1.0"} satisfies Health

// prettier-ignore
export const v2HealthOk = {"status":"ok","version":"0.1.0"} satisfies Health

// prettier-ignore
export const v2HelloData = {"hubId":"0193c5f8-0000-7000-8000-000000000001","seq":0,"serverTime":1734189234000,"version":"0.1.0"} satisfies Hello

// prettier-ignore
export const v2HelloEpoch = {"hubId":"019a9f5e-7c00-7000-8000-000000000000","seq":812,"epoch":"3d0c5b7e-6a39-4f0c-9a57-0a2f6b1f9c55","serverTime":1795262400000,"version":"0.2.0"} satisfies Hello

// prettier-ignore
export const v2HelloPage = {"hubId":"019a9f5e-7c00-7000-8000-000000000000","seq":812,"serverTime":1795262400000,"version":"0.2.0","page":"b0c1d2e3f4a5b6c7"} satisfies Hello

// prettier-ignore
export const v2HitlCancelGroup = {"reason":"Not now.","revision":4} satisfies HitlCancel

// prettier-ignore
export const v2HitlCancelReason = {"reason":"handled by phone"} satisfies HitlCancel

// prettier-ignore
export const v2HitlPageNewest = {"requests":[{"request_id":44,"status":"decided","type":"choice","prompt":"Ship it?","choices":["ship_it","needs_revision","abandon"],"agent":"release-bot","session_id":"s-7","created_at":1795000000000,"expires_at":1795000300000,"decided_at":1795000030000,"revision":2,"required_approvals":1,"awaiting":[],"votes":[],"waiting_on_me":false,"outcome":"ship_it","source":"human","decided_by":"local user","comment":"Lovely.","delivery":"delivered"}],"next_cursor":"44"} satisfies HitlPage

// prettier-ignore
export const v2HitlRequestAnswered = {"request_id":45,"status":"decided","type":"question","prompt":"What should the release be called, and where does it run?","choices":[],"agent":"release-bot","session_id":"s-7","created_at":1795000000000,"decided_at":1795000030000,"revision":2,"required_approvals":1,"awaiting":[],"votes":[],"waiting_on_me":false,"outcome":"answered","source":"human","decided_by":"local user","response":"Aurora","answers":{"where":["eu-1","us-2"]},"comment":"Both.","delivery":"pulled"} satisfies HitlRequest

// prettier-ignore
export const v2HitlRequestCancelled = {"request_id":43,"status":"cancelled","type":"question","prompt":"Which bucket does this complaint belong in?","choices":[],"agent":"triage","session_id":"s-8","created_at":1795000000000,"decided_at":1795000500000,"revision":2,"required_approvals":1,"awaiting":[],"votes":[],"waiting_on_me":false,"outcome":"__cancelled__","source":"cancel","decided_by":"ada","reason":"handled by phone","cancellation_reason":"handled by phone","delivery":"acked"} satisfies HitlRequest

// prettier-ignore
export const v2HitlRequestOtherAllowed = {"request_id":43,"status":"pending","type":"choice","prompt":"Which testing framework?","choices":["Jest","Vitest"],"allow_other":true,"agent":"shop-api","session_id":"s-7","created_at":1795000000000,"revision":1,"required_approvals":1,"awaiting":[],"votes":[],"waiting_on_me":true} satisfies HitlRequest

// prettier-ignore
export const v2HitlRequestVoting = {"request_id":42,"status":"pending","type":"permission","prompt":"Deploy build 1842 to production?","choices":["approve","deny"],"agent":"release-bot","agent_path":["release-bot","deployer"],"session_id":"s-7","agent_id":"a5c","agent_type":"deployer","model_name":"claude-sonnet-5","tool_call":{"name":"deploy","arguments":{"build":1842,"to":"production"},"editable":true},"risk":"high","created_at":1795000000000,"expires_at":1795003600000,"revision":3,"required_approvals":2,"recipients":["ada","grace","linus"],"awaiting":["grace","linus"],"votes":[{"user":"ada","choice":"approve","comment":"Tests are green.","at":1795000060000}],"waiting_on_me":true,"reminders":1,"escalated_at":1795001800000} satisfies HitlRequest

// prettier-ignore
export const v2HitlStatsDays = {"pendingCount":3,"resolversCount":2,"responsesCount":128,"waitingOnMe":1,"agents":["release-bot","triage"],"counts":{"pending":3,"decided":9,"expired":1,"cancelled":2},"days":[{"day":"2026-11-20","pending":0,"decided":7,"expired":1,"cancelled":0},{"day":"2026-11-21","pending":3,"decided":2,"expired":0,"cancelled":2}]} satisfies HitlStats

// prettier-ignore
export const v2HitlVoteEdited = {"choice":"approve","comment":"Half of it.","modified_arguments":{"orderId":"1234","amount":25000},"revision":3} satisfies HitlVote

// prettier-ignore
export const v2HitlVoteProved = {"choice":"approve","revision":3,"proof":{"id":"AQIDBA","type":"public-key","response":{"signature":"MEUCIQ"}}} satisfies HitlVote

// prettier-ignore
export const v2HitlVoteSeveralQuestions = {"choice":"","answers":{"db":"SQLite"},"reason":"It is enough."} satisfies HitlVote

// prettier-ignore
export const v2HubKeyRotated = {"hubId":"0c6f7a3e-5d0e-4d5e-9d0b-7b1f3a7c2e11","keyId":"6f283a0f77522587","publicKey":"C9iKvNiKdMUIRDUEPPLWwUaYwE87RXvhotEryIr0KYk=","rotations":[{"payloadType":"application/vnd.hookback.key-rotation+json","payload":"eyJodWJJZCI6IjBjNmY3YTNlLTVkMGUtNGQ1ZS05ZDBiLTdiMWYzYTdjMmUxMSIsImZyb20iOiJkNjkyNDQ3YzAwMmQ3ODFmIiwicHVibGljS2V5IjoiQzlpS3ZOaUtkTVVJUkRVRVBQTFd3VWFZd0U4N1JYdmhvdEVyeUlyMEtZaz0iLCJhdCI6MTc5NTI2MjQwMzAwMH0=","signatures":[{"keyid":"d692447c002d781f","sig":"cYKa923ASzgHZX4NxdSdx+b0PqxbRjFfpO6MPJ5IGWH+YUgCGK52n+aOKpEGPiQi4HXv+8sdCJcsYCHfsVlkCw=="}]}],"proof":{"payloadType":"application/vnd.hookback.hello+json","payload":"eyJodWJJZCI6IjBjNmY3YTNlLTVkMGUtNGQ1ZS05ZDBiLTdiMWYzYTdjMmUxMSIsImtleUlkIjoiNmYyODNhMGY3NzUyMjU4NyIsIm5vbmNlIjoiZjNiMWMwZGU1YTE3YmUxMSJ9","signatures":[{"keyid":"6f283a0f77522587","sig":"lHEffcvuVn567B9Wk2hjDdZbg9P7Ykp1FAg2Yp3m/m791GCPnMhU1K2rVbK5LVfgHNP1K/8lLX7gSwzCK85QCw=="}]}} satisfies HubKey

// prettier-ignore
export const v2HumanInTheLoopAppeal = {"question":"Run rm -rf build?","type":"permission","timeout":600,"lifeline":true,"appeal":{"by":"Claude Code auto mode","reason":"The command deletes files that the user did not mention."},"toolCall":{"name":"Bash","arguments":{"command":"rm -rf build"},"id":"toolu_01"}} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopConsequence = {"question":"Run git push --force origin main && rm -rf build ../tmp?","type":"permission","toolCall":{"name":"Bash","arguments":{"command":"git push --force origin main && rm -rf build ../tmp"},"consequence":{"sentences":["Removes at least 214 files, 38 MB; at least 9 of them are neither in git nor ignored and can't be restored.","The branch main on origin loses 3 commits: 2 of Ada, 1 of Max."],"files":214,"bytes":39845888,"unrecoverable":9,"lines":120,"commits":3,"outside":true,"partial":true,"changes":["/home/ada/shop/build","/home/ada/tmp"]}}} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopEscalated = {"question":"Deploy to production?","type":"permission","timeout":3600,"requiredApprovals":2,"recipients":{"mode":"selected_members","members":["ada","grace"]},"escalateAfterSeconds":600,"escalateTo":{"mode":"owner_admins"},"excludeRequester":false} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopInterruptible = {"question":"Run git push --force?","type":"permission","interruptible":true,"toolCall":{"name":"Bash","arguments":{"command":"git push --force"}}} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopLargeArguments = {"question":"Write /src/shop-api/fixtures.json?","type":"permission","toolCall":{"name":"","argumentsRef":"/tool_input"}} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopOtherAllowed = {"type":"choice","question":"Which testing framework?","choices":["Jest","Vitest"],"allowOther":true} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopOwners = {"question":"Deploy to production?","type":"permission","protocolVersion":2,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8","requestSecret":"Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA","context":{"commit":"8f14e45fceea167a5a36dedd4bea2543c1d2e3f4","owners":{"files":[{"paths":["payments/charge.go"],"owners":["@ada","@shop/payments"]}],"from":".github/CODEOWNERS of origin/main, commit 1a2b3c4","problem":"the call names no file that has an owner"}},"recipients":{"owners":true}} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopSigned = {"question":"Deploy to production?","type":"permission","protocolVersion":2,"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8","requestSecret":"Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA","context":{"commit":"8f14e45fceea167a5a36dedd4bea2543c1d2e3f4"}} satisfies HumanInTheLoop

// prettier-ignore
export const v2HumanInTheLoopSubagent = {"question":"Run go test ./...?","type":"permission","timeout":120,"promptAfter":120,"toolCall":{"name":"Bash","arguments":{"command":"go test ./..."}},"agentPath":["main","Explore"]} satisfies HumanInTheLoop

// prettier-ignore
export const v2ImportedSessionShop = {"hash":"9f2c6b1e","title":"Add paging to the order list","cwd":"/home/mara/src/shop","git_branch":"main","model":"claude-opus-4-1","started_at":1795262400000,"ended_at":1795266000000,"subagents":1,"usage":[{"at":1795262400000,"model":"claude-opus-4-1","requests":12,"tokens":{"input":1200,"output":3400,"cacheRead":56000,"cacheWrite":800},"costUsd":0.42},{"at":1795263300000,"model":"claude-haiku-4-5","requests":2,"tokens":{"input":90,"output":40}}],"tools":[{"tool":"Edit","calls":3},{"tool":"Bash","calls":2,"failures":1}],"files":[{"path":"/home/mara/src/shop/list.go","change":"edited","added":4,"removed":3,"calls":2,"events":[],"lastAt":1795262800000}],"moreFiles":1,"lines":141,"unreadableLines":2,"chatCut":true} satisfies ImportedSession

// prettier-ignore
export const v2LedgerEntryVoted = {"n":7,"at":1795262403000,"act":"question.voted","who":"ada","of":41,"data":{"choice":"approve"},"prev":"0000000000000000000000000000000000000000000000000000000000000000","hash":"8ac80c9f6f7fd3451b54e1ac574e28182f18495570bbc112bc6856ff16247156"} satisfies LedgerEntry

// prettier-ignore
export const v2LinkToken = {"token":"eyJwIjoiYWRhIn0.NotARealOne"} satisfies Link

// prettier-ignore
export const v2LinkPreviewPending = {"person":"ada","expiresAt":1795262700000,"event":{"id":41,"source_app":"shop","session_id":"s-1","hook_event_type":"PermissionRequest","payload":{},"timestamp":1795262400000,"humanInTheLoop":{"question":"May I delete ./build?","type":"permission"},"humanInTheLoopStatus":{"status":"pending","expiresAt":1795262700000,"revision":1}}} satisfies LinkPreview

// prettier-ignore
export const v2LinkVoteSeveral = {"token":"eyJwIjoiYWRhIn0.NotARealOne","permission":false,"response":"Only the old ones.","choice":"Staging","answers":{"region":"eu-west-1"},"reason":"Not today.","comment":"Ask me again on Monday.","revision":3} satisfies LinkVote

// prettier-ignore
export const v2LockStateOn = {"locked":true} satisfies LockState

// prettier-ignore
export const v2MachineReportLaptop = {"host":"laptop","account":"ada","agents":[{"agent":"claude-code","version":"2.1.332","policy":"41b0c9be8b1b5a5c","settings":"9d6ec1a0a5b34c0f"},{"agent":"gemini","version":"0.31.0","policy":"41b0c9be8b1b5a5c","settings":"e3b0c44298fc1c14","state":"off","detail":"~/.gemini/settings.json: no hook for BeforeTool"}]} satisfies MachineReport

// prettier-ignore
export const v2MeOwner = {"name":"ada","role":"admin","verified":true,"owner":true,"signIn":"s_7f3a","passkeys":1,"needsYou":2,"locked":true,"canAnswer":true,"canAdmin":true,"passkeyFor":"high","passkeyAt":"https://hub.example.com","ways":["oidc"],"owned":true,"changes":[{"change":"reset","person":"grace","by":"ada","at":1795262400000}]} satisfies Me

// prettier-ignore
export const v2MePaired = {"name":"ada","role":"operator","verified":true,"signIn":"s_7f3b","paired":true,"locked":true,"canAnswer":true,"canAdmin":false,"passkeyFor":"high","passkeyAt":"https://hub.example.com","owned":true} satisfies Me

// prettier-ignore
export const v2MessageActedOn = {"id":11,"state":"acted_on","source_app":"shop-api","session_id":"s1","agent_id":"agent_1","from":"Ada","text":"Use port 8081.","created_at":1795262403000,"handed_at":1795262405000,"event":87} satisfies Message

// prettier-ignore
export const v2MessageSaved = {"id":12,"state":"saved","source_app":"shop-api","session_id":"s1","from":"Ada","text":"Use port 8081.","created_at":1795262403000} satisfies Message

// prettier-ignore
export const v2MessageDraftText = {"source_app":"shop-api","session_id":"s1","agent_id":"agent_1","text":"Use port 8081."} satisfies MessageDraft

// prettier-ignore
export const v2MessagesChangedSession = {"source_app":"shop-api","session_id":"s1"} satisfies MessagesChanged

// prettier-ignore
export const v2NotificationSettingsEvening = {"cooldownMinutes":10,"reportAt":"07:30","reportedAt":1795833340210,"quietFrom":"22:00","quietTo":"07:30","timeZone":"Europe/Berlin","email":"anna@example.com","browsers":2,"answerByPush":true} satisfies NotificationSettings

// prettier-ignore
export const v2NowReportLanes = {"at":1763676000000,"upTo":42,"needsYou":1,"working":1,"costUsd":4.2,"lanes":[{"source_app":"api","session_id":"0b7c","title":"Rate limit the checkout","state":"needs_you","step":{"text":"Run rm -rf build","since":1763675940000},"requests":[42],"startedAt":1763672400000,"lastAt":1763675940000,"last":{"id":42,"hook_event_type":"PermissionRequest","tool_name":"Bash","at":1763675940000},"blockedMs":60000,"costUsd":0.42,"failures":1,"buckets":[0,3],"waits":[{"from":1763675500000,"to":1763675520000},{"from":1763675940000}]},{"source_app":"web","session_id":"77aa","state":"failing","step":{"text":"Edit internal/order/list.go +4 −3","since":1763675990000,"tool_use_id":"toolu_1"},"failing":true,"startedAt":1763674000000,"lastAt":1763675990000,"blockedMs":0,"failures":5},{"source_app":"web","session_id":"77ab","state":"ended","ended":true,"startedAt":1763674000000,"lastAt":1763675000000,"blockedMs":0,"failures":0}],"moreLanes":3,"stripFrom":1763675410000,"knownFrom":1763675410000,"bucketMs":10000,"lagMs":1200} satisfies NowReport

// prettier-ignore
export const v2OTLPResponseAccepted = {"partialSuccess":{}} satisfies OTLPResponse

// prettier-ignore
export const v2OTLPResponseRejected = {"partialSuccess":{"rejectedLogRecords":2,"errorMessage":"some records name no session; is OTEL_METRICS_INCLUDE_SESSION_ID off?"}} satisfies OTLPResponse

// prettier-ignore
export const v2OverviewDays = {"from":1795219200000,"to":1795262900000,"pending":1,"undelivered":1,"answered":87,"medianMs":6200,"p95Ms":41000,"days":[{"day":"2026-11-21","approved":60,"denied":12,"answered":15,"timeout":3,"cancelled":2,"dismissed":4,"gone":2,"other":1}],"waits":[{"belowMs":1000,"count":4},{"belowMs":10000,"count":60}],"agents":[{"source_app":"api-refactor","events":8800,"sessions":4,"tools":310,"failures":21,"asked":40,"pending":1,"waitedMs":310000,"lastAt":1795262900000,"ended":true,"tokens":{"input":1200,"output":340,"cacheRead":56000,"cacheWrite":800},"costUsd":4.2}],"tools":[{"tool":"Bash","calls":20,"failures":2,"totalMs":18400,"medianMs":310,"p95Ms":4100}],"lagMs":1500,"unasked":{"ran":1204,"risky":3,"refused":12,"appealed":2,"denied":4,"complete":true}} satisfies Overview

// prettier-ignore
export const v2PairingCodeMade = {"url":"https://hub.example.com/#pair=4Zk0mB2hXw9qLr7TnV1cYd","qr":"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 41 41\"/>","expiresAt":1795263000000} satisfies PairingCode

// prettier-ignore
export const v2PasskeyUsed = {"id":"k_5mB0q","name":"this laptop","at":"hub.example.com","createdAt":1795262400000,"lastUsedAt":1795266000000} satisfies Passkey

// prettier-ignore
export const v2PasskeyDraftMade = {"name":"this laptop","credential":{"id":"AQIDBA","type":"public-key","response":{"attestationObject":"o2NmbXQ"}}} satisfies PasskeyDraft

// prettier-ignore
export const v2PasskeyOptionsGet = {"publicKey":{"challenge":"nWjV3vOEt2c","rpId":"hub.example.com","userVerification":"required"}} satisfies PasskeyOptions

// prettier-ignore
export const v2PersonHandles = {"name":"grace","role":"operator","owner":true,"email":"grace@example.com","handles":["@ada","@shop/payments"],"createdAt":1795262400000,"lastSeenAt":1795262460000,"passkeys":2,"chats":["telegram"],"signInUrl":"http://localhost:4000/#sign-in=Zm9v","signedIn":true} satisfies Person

// prettier-ignore
export const v2PersonInvited = {"name":"grace","role":"operator","owner":true,"email":"grace@example.com","createdAt":1795262400000,"lastSeenAt":1795262460000,"passkeys":2,"chats":["telegram"],"signInUrl":"http://localhost:4000/#sign-in=Zm9v","signedIn":true} satisfies Person

// prettier-ignore
export const v2PersonDraftGrace = {"name":"grace","role":"operator","email":"grace@example.com","proof":{"id":"a2V5"}} satisfies PersonDraft

// prettier-ignore
export const v2PersonDraftHandles = {"name":"grace","role":"operator","email":"grace@example.com","handles":["@ada"],"proof":{"id":"a2V5"}} satisfies PersonDraft

// prettier-ignore
export const v2PolicyLinePush = {"rule":"{\"tool\":\"Bash\",\"when\":{\"command\":{\"runs\":\"git push\"}},\"then\":\"ask\"}","command":"hookback policy add '{\"tool\":\"Bash\",\"when\":{\"command\":{\"runs\":\"git push\"}},\"then\":\"ask\"}'","text":"Bash with command that runs git push: ask","days":30,"asks":14,"ran":9,"draft":{"tool":"Bash","when":[{"argument":"command","is":"starts_with","value":"git push"}],"source_app":"shop","session_id":"s-1","cwd":"/home/ada/shop"},"complete":true} satisfies PolicyLine

// prettier-ignore
export const v2PolicyListTwoFiles = {"policies":[{"origin":"user","path":"/home/ada/.config/hookback/hookback.json","cwd":"/home/ada/shop","host":"ada-laptop","person":"ada","hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","reportedAt":1795262300000,"event":40,"sessions":12,"text":"{\"rules\": [\n  {\"tool\": \"Bash\", \"when\": {\"command\": {\"runs\": \"git push\"}}, \"then\": \"ask\"},\n  {\"tool\": \"Bash\", \"when\": {\"command\": {\"glob\": \"npm test*\"}}, \"then\": \"allow\"}\n]}\n","problems":[],"rules":[{"index":0,"then":"ask","sentence":"Bash when command runs \"git push\": ask","json":"{\"tool\":\"Bash\",\"when\":{\"command\":{\"runs\":\"git push\"}},\"then\":\"ask\"}","hits":14,"opposed":0},{"index":1,"then":"allow","sentence":"Bash when command matches \"npm test*\": allow","json":"{\"tool\":\"Bash\",\"when\":{\"command\":{\"glob\":\"npm test*\"}},\"then\":\"allow\"}","hits":3,"opposed":1}]},{"origin":"project","path":"/home/ada/shop/hookback.json","cwd":"/home/ada/shop","host":"ada-laptop","person":"ada","hash":"","reportedAt":1795262300000,"event":40,"sessions":3,"problems":[{"text":"the policy is not a regular file"}],"rules":[]}],"complete":true} satisfies PolicyList

// prettier-ignore
export const v2PolicyReportTwoFiles = {"host":"ada-laptop","cwd":"/home/ada/shop","files":[{"origin":"user","path":"/home/ada/.config/hookback/hookback.json","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","text":"{\"rules\": [{\"tool\": \"Bash\", \"when\": {\"command\": {\"runs\": \"git push\"}}, \"then\": \"ask\"}]}"},{"origin":"project","path":"/home/ada/shop/hookback.json","problem":"the policy is not a regular file"}]} satisfies PolicyReport

// prettier-ignore
export const v2PresenceData = {"screens":2,"looking":[{"id":41,"screens":2,"people":["grace"]}]} satisfies Presence

// prettier-ignore
export const v2ProblemDecided = {"type":"about:blank","title":"Conflict","status":409,"detail":"the question has been answered already, by mara","code":"decided","error":"the question has been answered already, by mara","humanInTheLoopStatus":{"status":"responded","respondedAt":1734189245000,"outcome":"deny","source":"human","respondedBy":{"name":"mara","verified":true},"revision":2}} satisfies Problem

// prettier-ignore
export const v2ProblemHeld = {"type":"about:blank","title":"Conflict","status":409,"detail":"the question has an answer that can still be undone","code":"held","error":"the question has an answer that can still be undone","humanInTheLoopStatus":{"status":"pending","revision":2,"held":{"until":1734189245000,"outcome":"approve","by":{"name":"mara","verified":true}}}} satisfies Problem

// prettier-ignore
export const v2ProblemInvalid = {"type":"about:blank","title":"Bad Request","status":400,"detail":"humanInTheLoop.choices needs at least one label","code":"invalid","field":"humanInTheLoop.choices","error":"humanInTheLoop.choices needs at least one label"} satisfies Problem

// prettier-ignore
export const v2ProblemMisdirectedWithHint = {"type":"about:blank","title":"Misdirected Request","status":421,"detail":"the hub does not go by this name","code":"misdirected","error":"the hub does not go by this name","hint":"Use http://127.0.0.1:4000."} satisfies Problem

// prettier-ignore
export const v2ProblemNoRetry = {"type":"about:blank","title":"Conflict","status":409,"detail":"the answer can't be sent again","code":"no_retry","error":"the answer can't be sent again","hint":"The agent took its question back: it waits for no answer.","humanInTheLoopStatus":{"status":"error","outcome":"__withdrawn__","source":"agent","revision":2}} satisfies Problem

// prettier-ignore
export const v2ProblemWrongAnswer = {"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"choice was not offered","code":"wrong_answer","field":"choice","error":"choice was not offered"} satisfies Problem

// prettier-ignore
export const v2PushKeyPublic = {"key":"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"} satisfies PushKey

// prettier-ignore
export const v2PushMessageAnswer = {"id":41,"title":"shop: run npm test","tag":"request-41","needsYou":2,"text":"Claude Code wants to run npm test in ~/shop.","token":"v1.eyJxIjo0MX0.c2lnbmF0dXJl"} satisfies PushMessage

// prettier-ignore
export const v2PushMessageSettled = {"id":41,"title":"shop asks for an answer","tag":"request-41","settled":true} satisfies PushMessage

// prettier-ignore
export const v2PushSubscriptionBrowser = {"endpoint":"https://push.example.com/send/NotARealOne","expirationTime":1803038400000,"keys":{"p256dh":"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM","auth":"tBHItJI5svbpez7KI4CCXg"}} satisfies PushSubscription

// prettier-ignore
export const v2QuestionContextContext = {"before":[{"id":41,"uid":"019a9f5e-7c00-7000-8000-000000000041","source_app":"api-refactor","session_id":"f3a91c07","hook_event_type":"PostToolUse","payload":{"tool_name":"Bash"},"timestamp":1795262400000,"tool_name":"Bash","tool_use_id":"toolu_01"}],"earlier":{"approved":3,"denied":2,"other":1,"last":{"id":12,"uid":"019a9f5e-7c00-7000-8000-000000000041","source_app":"api-refactor","session_id":"f3a91c07","hook_event_type":"PostToolUse","payload":{"tool_name":"Bash"},"timestamp":1795262400000,"tool_name":"Bash","tool_use_id":"toolu_01"}},"result":{"lines":["removed '/srv/data/a'","removed '/srv/data/b'"],"moreLines":212,"exitStatus":0,"files":["/srv/data/notes.md"],"moreFiles":3,"differs":["It changed /srv/data/notes.md, which was not announced."]},"collisions":[{"source_app":"web","session_id":"s2","eventId":40,"path":"/srv/app/a.go","at":1795262340000}]} satisfies QuestionContext

// prettier-ignore
export const v2RPCCall = {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_human","arguments":{"question":"Which region?","choices":["eu-west","us-east"],"context":"The customer's data may have to stay in Europe."}}} satisfies RPC

// prettier-ignore
export const v2RPCError = {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool \"ask\"","data":{"known":8}}} satisfies RPC

// prettier-ignore
export const v2RPCResult = {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"request_id\":\"42\",\"status\":\"pending\",\"expires_at\":\"2026-11-21T18:05:00Z\",\"secret\":\"Zm9yIHRoaXMgYXNrZXI\"}"}],"structuredContent":{"request_id":"42","status":"pending","expires_at":"2026-11-21T18:05:00Z","secret":"Zm9yIHRoaXMgYXNrZXI"}}} satisfies RPC

// prettier-ignore
export const v2ReachFailed = {"publicUrl":"https://hub.example.com","state":"failed","reason":"The hub could not connect to hub.example.com.","flag":"-public-url https://hub.example.com","machine":"laptop"} satisfies Reach

// prettier-ignore
export const v2ReachSettingsLocal = {"publicUrl":"http://localhost:4000"} satisfies ReachSettings

// prettier-ignore
export const v2ReceiptApproved = {"envelope":{"payloadType":"application/vnd.in-toto+json","payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEiLCJzdWJqZWN0IjpbeyJuYW1lIjoiYXNrIiwiZGlnZXN0Ijp7InNoYTI1NiI6ImMwZmNmZDBjYTczNDUzMGM1NDc3NTExOGY0OWUwMmIyNzA0YmM2NzU4NjRmMTk1NDcxYjEyNGJkZTQxMjIyMGQifX0seyJuYW1lIjoiY2FsbCIsImRpZ2VzdCI6eyJzaGEyNTYiOiJiOTNlZWUxMjFkODBiY2Q1NmNlMjJlOGM2NTRiYjU0MGNlN2U5OGU0N2UwMGE0OGE2OWJiYjdkNGU1OGJiNWEyIn19LHsibmFtZSI6ImNvbW1pdCIsImRpZ2VzdCI6eyJnaXRDb21taXQiOiI4ZjE0ZTQ1ZmNlZWExNjdhNWEzNmRlZGQ0YmVhMjU0M2MxZDJlM2Y0In19XSwicHJlZGljYXRlVHlwZSI6Imh0dHBzOi8vZ2l0aHViLmNvbS9ob29rYmFjay9ob29rYmFjay9kZWNpc2lvbi92MSIsInByZWRpY2F0ZSI6eyJodWIiOiI3YTU3ZjJlZC1jNGJkLTRiNTctOTljYS03NjM5NjU5YWY5ZGIiLCJldmVudCI6IjAxYTIwM2U4LTllNzMtNzEzOC04NGQyLTIxNzQ1N2NjMTYzYyIsImV2ZW50SWQiOjEsImFuc3dlcklkIjoiMDFhMjAzZTgtOWU3Ni03ODAzLWIyNDktMjM4NTYwMWJlOGZjIiwiYXBwIjoiZGVwbG95LWJvdCIsInNlc3Npb24iOiJzLTEiLCJ0b29sIjoiQmFzaCIsImFuc3dlciI6eyJwZXJtaXNzaW9uIjp0cnVlLCJyZWFzb24iOiJiYWNrZWQgdXAifSwib3V0Y29tZSI6ImFwcHJvdmUiLCJzb3VyY2UiOiJodW1hbiIsInJlc3BvbmRlZEF0IjoxNzk1MzYxOTA2Mjk0LCJyZXNwb25kZWRCeSI6eyJuYW1lIjoiYWRhIiwidmVyaWZpZWQiOnRydWUsInZpYSI6InNlc3Npb24iLCJwYXNza2V5Ijp0cnVlfSwiZ3VpZGFuY2UiOiJBIHBlcnNvbiBhcHByb3ZlZCBleGFjdGx5IHRoaXMuIFRoZSByZWFzb24gZ2l2ZW46IGJhY2tlZCB1cCIsImNsYXNzIjoicmlza3kiLCJyaXNrIjoiaGlnaCJ9fQ==","signatures":[{"keyid":"cfff7bce8559cc47","sig":"gpsUfyecYtaJdWU15lhE8gY3vsqJ2lt4vBS4I+gCZTHL4Qeqp/9x+hiJaBQPBT4Ym+Ooh/KPwboczdGOPs7sAA=="}]},"proofs":[{"person":"ada","credentialId":"3Zgd1XF4abUjlRhL4ApObA","publicKey":"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpP4913ELCnnhrqE5lk1fTKyp0CSommTyfZcdY/t0DJcvkdHJkeqRNHihL/3Zvvafxs825hUpTPpDHLH57zjp3w==","authenticatorData":"SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ","clientDataJSON":"eyJjaGFsbGVuZ2UiOiIwZjdwM3NUTUowWFFaRUZyTlBUVkxYWWVRWHZOcnJtUlF4cHZrbDRXbE0wIiwiY3Jvc3NPcmlnaW4iOmZhbHNlLCJvcmlnaW4iOiJodHRwOi8vbG9jYWxob3N0OjQwMDAiLCJ0eXBlIjoid2ViYXV0aG4uZ2V0In0","signature":"MEQCIGuioxVyG05V6JVn6KMs49iboLRIk8tNevgpiXhxCx6eAiAHb5o26z1YORlepNSCA4RU6JOcgbuCha2TB5Z909xjwQ","signed":"[\"7a57f2ed-c4bd-4b57-99ca-7639659af9db\",\"01a203e8-9e73-7138-84d2-217457cc163c\",0,\"21e23c03765ab2da1d10575bf84b5dcfa5b7dee77cc6b282f8c9243beb01eeb3\",{\"permission\":true,\"reason\":\"backed up\"}]","nonce":"QRD69reR01ZVskkCckbmZR_7gDM0fSPK42FTL7DPjt0"}],"ledgerEntry":{"n":3,"at":1795361906294,"act":"question.ended","who":"ada","of":1,"data":{"outcome":"approve","source":"human","revision":2,"answerId":"01a203e8-9e76-7803-b249-2385601be8fc","by":{"name":"ada","verified":true,"via":"session","passkey":true},"reason":"backed up","ask":"c0fcfd0ca734530c54775118f49e02b2704bc675864f195471b124bde412220d","statement":"fa87e17a2b1115ecb7df5e16f20a16c4afbf5af875ee9233c3cd6af692a03353"},"prev":"ba1d658075b9088b58b9603c0d83448216d7844a1943e9f198ac9273fe5760f8","hash":"74b67c0d23911439de2366987b85cddf556fdec3ee0b52ec5d11e1858d98d57f"}} satisfies Receipt

// prettier-ignore
export const v2ReceiptQuestion = {"envelope":{"payloadType":"application/vnd.in-toto+json","payload":"eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEiLCJzdWJqZWN0IjpbeyJuYW1lIjoiYXNrIiwiZGlnZXN0Ijp7InNoYTI1NiI6ImMwZmNmZDBjYTczNDUzMGM1NDc3NTExOGY0OWUwMmIyNzA0YmM2NzU4NjRmMTk1NDcxYjEyNGJkZTQxMjIyMGQifX0seyJuYW1lIjoicXVlc3Rpb24iLCJkaWdlc3QiOnsic2hhMjU2IjoiNTVhNTdkNWRiZTZjMTgxYzc5ZjU2ZTA5ZmJiZWFhOTdkZjU2YjEwYWU2MzdhOTZlOTg0NDJkZTZkNmY0ZGFkYyJ9fSx7Im5hbWUiOiJjb21taXQiLCJkaWdlc3QiOnsiZ2l0Q29tbWl0IjoiOGYxNGU0NWZjZWVhMTY3YTVhMzZkZWRkNGJlYTI1NDNjMWQyZTNmNCJ9fV0sInByZWRpY2F0ZVR5cGUiOiJodHRwczovL2dpdGh1Yi5jb20vaG9va2JhY2svaG9va2JhY2svZGVjaXNpb24vdjEiLCJwcmVkaWNhdGUiOnsiaHViIjoiN2E1N2YyZWQtYzRiZC00YjU3LTk5Y2EtNzYzOTY1OWFmOWRiIiwiZXZlbnQiOiIwMWEyMDNlOC05ZTczLTcxMzgtODRkMi0yMTc0NTdjYzE2M2QiLCJldmVudElkIjoyLCJhbnN3ZXJJZCI6IjAxYTIwM2U4LTllNzYtNzgwMy1iMjQ5LTIzODU2MDFiZThmZCIsImFwcCI6InNob3AiLCJzZXNzaW9uIjoicy0xIiwicmVxdWVzdGVyIjoiYWdlbnQ6Y2kiLCJhbnN3ZXIiOnsicGVybWlzc2lvbiI6dHJ1ZX0sIm91dGNvbWUiOiJhcHByb3ZlIiwic291cmNlIjoiaHVtYW4iLCJyZXNwb25kZWRBdCI6MTc5NTM2MTkwNjI5NCwicmVzcG9uZGVkQnkiOnsibmFtZSI6ImFkYSIsInZlcmlmaWVkIjp0cnVlLCJ2aWEiOiJzZXNzaW9uIn19fQ==","signatures":[{"keyid":"e99a74e88f8b639b","sig":"S6z6t9qnfTC6CL4Qo32lTGedxcftynAka+77F0dSYdJEq3WlF/gXhs/L5Hmh0URb7Q5VkX0wIMQI0yA8ywopBg=="}]},"question":"Deploy?","consequence":{"sentences":["Removes 214 files, 38 MB; 9 of them are neither in git nor ignored and can't be restored."],"files":214,"bytes":39845888,"unrecoverable":9}} satisfies Receipt

// prettier-ignore
export const v2RejectCallReason = {"reason":"This order was already refunded"} satisfies RejectCall

// prettier-ignore
export const v2ReplayAdd = {"days":30,"looked":1,"allowed":0,"denied":0,"asked":1,"unmatched":0,"opposed":0,"complete":true,"problems":[],"examples":[],"sentence":"Bash: ask","policy":"{\"rules\": [\n    {\"tool\":\"Bash\",\"then\":\"ask\"}\n  ]}"} satisfies Replay

// prettier-ignore
export const v2ReplayOpposed = {"days":30,"looked":1204,"allowed":3,"denied":1,"asked":14,"unmatched":1186,"opposed":1,"complete":true,"problems":[{"line":3,"column":1,"text":"no agent we know has a tool \"Bsh\"; did you mean \"Bash\"?"}],"examples":[{"event":41,"source_app":"shop","tool":"Bash","title":"Run npm publish","effect":"allow","rule":1,"sentence":"Bash when command starts with \"npm publish\": allow","decided":"person","outcome":"refused","opposed":true,"at":1795262300000}]} satisfies Replay

// prettier-ignore
export const v2ReplayDraftAdd = {"policy":"{\"rules\": []}","origin":"user","add":"{\"tool\":\"Bash\",\"then\":\"ask\"}"} satisfies ReplayDraft

// prettier-ignore
export const v2ReplayDraftPolicy = {"policy":"{\"rules\": [{\"tool\": \"Bash\", \"when\": {\"command\": {\"runs\": \"git push\"}}, \"then\": \"ask\"}]}","origin":"user"} satisfies ReplayDraft

// prettier-ignore
export const v2ReplayDraftRule = {"rule":{"tool":"Bash","then":"allow","scope":"when","when":[{"argument":"command","is":"starts_with","value":"npm test"}],"reach":"everywhere"}} satisfies ReplayDraft

// prettier-ignore
export const v2ReportAway = {"since":1795822096123,"until":1795833340210,"knownFrom":1795825000000,"lines":[{"kind":"waiting","count":2,"number":"2 requests","text":"wait for an answer: shop-api, docs; the oldest for 3 h 12 min","link":"/stream?q=status%3Apending+-app%3Ahookback-test&from=1795821820000","oldest":1795821820000,"differs":"3"},{"kind":"failed","count":1000,"atLeast":true,"number":"at least 1000 errors","text":"reported: ci","link":"/stream?q=error%3A%2F.%2F+-app%3Ahookback-test&from=1795822096123&to=1795833340210"},{"kind":"cost","costUsd":4.12,"number":"$4.12","text":"spent: shop-api","link":"/overview?since=1795822096123"}],"checked":true} satisfies Report

// prettier-ignore
export const v2RequestDefaultsOwners = {"defaults":[{"paths":["payments/*"],"recipients":{"owners":true},"requiredApprovals":2}]} satisfies RequestDefaults

// prettier-ignore
export const v2RequestDefaultsThree = {"defaults":[{"kind":"permission","risk":"critical","timeoutSeconds":1800,"recipients":{"mode":"selected_members","members":["ada","grace"]},"requiredApprovals":2},{"kind":"plan","timeoutSeconds":0},{"risk":"unknown","recipients":{"mode":"owner_admins"}}]} satisfies RequestDefaults

// prettier-ignore
export const v2ResponseAskBack = {"permission":false,"askBack":"Why a force push?"} satisfies Response

// prettier-ignore
export const v2ResponseDeniedWithReason = {"permission":false,"reason":"Take a backup first."} satisfies Response

// prettier-ignore
export const v2ResponseEdited = {"permission":true,"comment":"Only the backup table.","modifiedArguments":{"command":"psql \"$STAGING_URL\" -c 'DROP TABLE IF EXISTS orders_old'","description":"Drop old orders table on staging"},"revision":1} satisfies Response

// prettier-ignore
export const v2ResponseHeld = {"permission":true,"revision":3,"holdMs":5000} satisfies Response

// prettier-ignore
export const v2ResponseInterrupt = {"permission":false,"reason":"Stop: wrong branch.","interrupt":true} satisfies Response

// prettier-ignore
export const v2ResponseProved = {"permission":true,"comment":"Checked the list.","revision":2,"proof":{"id":"AQIDBA","type":"public-key","response":{"signature":"MEUCIQ"}}} satisfies Response

// prettier-ignore
export const v2ResponseRemembered = {"permission":true,"remember":{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"psql:*"}],"behavior":"allow"}} satisfies Response

// prettier-ignore
export const v2ResponseSeveralQuestions = {"answers":{"database":"SQLite","extras":["Migrations","Seed data"],"notes":"Keep the old ids."}} satisfies Response

// prettier-ignore
export const v2ResponseSnakeCase = {"permission":true,"modifiedArguments":{"command":"ls"}} satisfies Response

// prettier-ignore
export const v2RiskyCallsCalls = {"calls":[{"id":87,"source_app":"shop-api","session_id":"s1","tool_name":"Bash","risk":"high","codes":["pipe_to_shell"],"decided":"agent","outcome":"ran"}]} satisfies RiskyCalls

// prettier-ignore
export const v2RuleAllowance = {"id":7,"then":"allow","text":"Allow harmless calls, in the session f3a91c07 of api-refactor, for 15 minutes or until the session ends","scope":"session","tool":"","source_app":"api-refactor","session_id":"f3a91c07","from":42,"createdAt":1795262400000,"createdBy":"ada","expiresAt":1795263300000,"uses":0} satisfies Rule

// prettier-ignore
export const v2RuleRevoked = {"id":3,"then":"allow","text":"Allow Bash in /home/dev/shop when command starts with \"npm test\", for 8 hours","tool":"Bash","call":"9f2c","when":[{"argument":"command","is":"starts_with","value":"npm test"}],"command":["npm","test","--bail"],"source_app":"shop","session_id":"s-1","cwd":"/home/dev/shop","reason":"Run the tests.","from":41,"createdAt":1795262400000,"createdBy":"ada","expiresAt":1795291200000,"revokedAt":1795280000000,"revokedBy":"ada","uses":12,"lastUseAt":1795270000000} satisfies Rule

// prettier-ignore
export const v2RuleDraftAllowance = {"from":412,"then":"allow","scope":"session","reach":"session","applyNow":true} satisfies RuleDraft

// prettier-ignore
export const v2RuleDraftFromScratchSession = {"tool":"Bash","source_app":"shop","session_id":"s-1","then":"allow","scope":"when","when":[{"argument":"command","is":"equals","value":"npm test"}],"reach":"session"} satisfies RuleDraft

// prettier-ignore
export const v2RuleDraftFromScratch = {"tool":"Bash","source_app":"shop","cwd":"/home/ada/shop","then":"deny","scope":"when","when":[{"argument":"command","is":"starts_with","value":"git push"}],"reach":"project","ttlSeconds":0} satisfies RuleDraft

// prettier-ignore
export const v2RuleDraftWords = {"from":412,"then":"allow","scope":"when","when":[{"argument":"command","is":"starts_with","value":"npm test"}],"reach":"project","ttlSeconds":28800,"reason":"Tests may always run.","applyNow":true} satisfies RuleDraft

// prettier-ignore
export const v2RulePreviewRefused = {"rule":{"id":0,"then":"allow","text":"Allow every call of Bash, for 8 hours","tool":"Bash","createdAt":1795262400000,"createdBy":"ada","uses":0},"refused":"A rule can't allow what is of high risk.","exact":"call","looked":500,"matched":12,"agreed":10,"opposed":1,"undecided":1,"examples":[{"id":41,"source_app":"shop","session_id":"s-1","hook_event_type":"PreToolUse","payload":{},"timestamp":1795262300000}]} satisfies RulePreview

// prettier-ignore
export const v2SafetySpend = {"settings":{"equalFailures":5,"spendUsd":10,"spendMinutes":60},"active":{"equalFailures":3,"spendUsd":10,"spendMinutes":60},"flag":"-freeze-after 3","freezes":[{"id":4,"scope":"session","by":"Hookback","reason":"Spent $12.40 of $10 in one hour.","rule":"spend","cost_usd":31.2,"created_at":1734189245000,"source_app":"shop-api","session_id":"4b7293f1"}]} satisfies Safety

// prettier-ignore
export const v2SafetySettingsBoth = {"equalFailures":5,"spendUsd":10,"spendMinutes":60} satisfies SafetySettings

// prettier-ignore
export const v2SearchResultPage = {"events":[{"id":41,"uid":"019a9f5e-7c00-7000-8000-000000000041","source_app":"api-refactor","session_id":"f3a91c07","hook_event_type":"PostToolUse","payload":{"tool_name":"Bash"},"timestamp":1795262400000,"tool_name":"Bash","tool_use_id":"toolu_01"}],"searchedTo":7,"complete":true} satisfies SearchResult

// prettier-ignore
export const v2SessionDetailTools = {"session":{"source_app":"api-refactor","session_id":"f3a91c07","parent_session_id":"a0","title":"Upgrade the hub to schema v4","cwd":"/home/mara/src/payments","branch":"main","model":"claude-opus-4-1","startedAt":1795262400000,"lastAt":1795262900000,"ended":true,"firstId":3,"lastId":90,"status":"ended","events":88,"tools":31,"failures":2,"agents":2,"asked":4,"pending":1,"humanWaitMs":30000,"tokens":{"input":1200,"output":340,"cacheRead":56000,"cacheWrite":800},"costUsd":0.42,"transcript":90},"tools":[{"tool":"Bash","calls":20,"failures":2,"totalMs":18400,"medianMs":310,"p95Ms":4100}],"models":[{"model":"claude-opus-5-5","requests":31,"tookMs":184200,"tokens":{"input":37200,"output":11800,"cacheRead":912000,"cacheWrite":60400},"costUsd":1.31},{"model":"claude-haiku-4-5","tokens":{"input":900,"output":120}}],"agents":[{"agent_id":"","parent":"","model":"claude-opus-5-5","firstId":1,"lastId":41,"startedAt":1795275817984,"lastAt":1795275937682,"ended":false,"events":30,"tools":12,"failures":1,"asked":2,"pending":1,"waitedMs":41000,"requests":22,"tokens":{"input":30000,"output":9000,"cacheRead":700000},"costUsd":1.02},{"agent_id":"a16dd7d4583966b1c","agent_type":"general-purpose","parent":"","firstId":12,"lastId":38,"startedAt":1795275818463,"lastAt":1795275930000,"ended":true,"events":11,"tools":4,"failures":0,"asked":0,"pending":0,"waitedMs":0},{"agent_id":"ab2219d08097c1807","agent_type":"Explore","parent":"a16dd7d4583966b1c","firstId":20,"lastId":31,"startedAt":1795275820000,"lastAt":1795275828000,"ended":true,"events":6,"tools":3,"failures":0,"asked":0,"pending":0,"waitedMs":0}],"lagMs":1500} satisfies SessionDetail

// prettier-ignore
export const v2SessionFilesTwo = {"files":[{"path":"internal/order/list.go","change":"edited","added":4,"removed":3,"calls":2,"events":[42,40],"lastAt":1795262800000},{"path":"notes.md","change":"written","added":12,"removed":0,"calls":1,"events":[31],"lastAt":1795262700000}],"more":3} satisfies SessionFiles

// prettier-ignore
export const v2SessionPagePage = {"sessions":[{"source_app":"api-refactor","session_id":"f3a91c07","parent_session_id":"a0","title":"Upgrade the hub to schema v4","cwd":"/home/mara/src/payments","branch":"main","model":"claude-opus-4-1","startedAt":1795262400000,"lastAt":1795262900000,"ended":true,"firstId":3,"lastId":90,"status":"waiting_human","events":88,"tools":31,"failures":2,"agents":2,"asked":4,"pending":1,"humanWaitMs":30000,"tokens":{"input":1200,"output":340,"cacheRead":56000,"cacheWrite":800},"costUsd":0.42,"transcript":90}],"next":"90","lagMs":1500} satisfies SessionPage

// prettier-ignore
export const v2ShareCreated = {"id":"K7QZ2M4XW3BN5RTA","source_app":"shop-api","session_id":"s1","person":"ada","createdAt":1795262800000,"expiresAt":1795349200000,"transcript":true,"url":"https://hub.example.com/shared#hubsh_K7QZ2M4XW3BN5RTA_EXAMPLEEXAMPLEEXAMPLEEXAM"} satisfies Share

// prettier-ignore
export const v2ShareDraftDay = {"source_app":"shop-api","session_id":"s1","hours":24,"transcript":true} satisfies ShareDraft

// prettier-ignore
export const v2SharesListed = [{"id":"K7QZ2M4XW3BN5RTA","source_app":"shop-api","session_id":"s1","person":"ada","createdAt":1795262800000,"expiresAt":1795349200000,"lastOpenedAt":1795266400000,"opens":3}] satisfies Share[]

// prettier-ignore
export const v2SharedSessionWithTranscript = {"source_app":"shop-api","session_id":"s1","person":"ada","expiresAt":1795349200000,"transcript":true} satisfies SharedSession

// prettier-ignore
export const v2SignInBrowser = {"id":"s_7f3a","person":"ada","userAgent":"Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0","way":"link","createdAt":1795262400000,"lastSeenAt":1795262460000,"expiresAt":1795305600000,"current":true} satisfies SignIn

// prettier-ignore
export const v2SignInRequestFirst = {"code":"3kT9vQ0000notARealOne0","name":"ada"} satisfies SignInRequest

// prettier-ignore
export const v2SignInRequestPair = {"code":"4Zk0mB2hXw9qLr7TnV1cYd","pair":true} satisfies SignInRequest

// prettier-ignore
export const v2SignInResultOwner = {"key":"5notARealKey","me":{"name":"ada","role":"admin","verified":true,"owner":true,"signIn":"s_7f3a","locked":false,"canAnswer":true,"canAdmin":true}} satisfies SignInResult

// prettier-ignore
export const v2SpendReportDays = {"from":1763596800000,"to":1763676000000,"rows":[{"day":"2026-11-20","model":"claude-opus-4-1","tokens":{"input":12000,"output":3400,"cacheRead":250000},"costUsd":4.2},{"day":"2026-11-20","model":"","tokens":{"input":800,"output":90},"costUsd":0}],"tokens":{"input":12800,"output":3490,"cacheRead":250000},"costUsd":4.2,"lagMs":1200} satisfies SpendReport

// prettier-ignore
export const v2StatusAcknowledged = {"status":"responded","respondedAt":1734189245000,"response":{"permission":true,"respondedAt":1734189245000},"outcome":"approve","source":"human","expiresAt":1734189354000,"revision":5,"delivery":{"state":"acked","attempts":2,"deliveredAt":1734189245512},"execution":{"state":"failed","durationMs":4187,"error":"Exit code 1"}} satisfies Status

// prettier-ignore
export const v2StatusBlocked = {"status":"error","outcome":"__cancelled__","source":"cancel","reason":"Superseded by the new plan.","revision":2,"delivery":{"state":"blocked","attempts":0,"lastError":"only loopback addresses may be dialled"}} satisfies Status

// prettier-ignore
export const v2StatusByRule = {"status":"responded","respondedAt":1795262400004,"response":{"permission":true,"respondedAt":1795262400004},"outcome":"approve","source":"rule","revision":2,"respondedBy":{"name":"rule 3","verified":true,"via":"rule"},"rule":{"id":3,"text":"Allow Read of anything under /home/dev/shop, for 8 hours"},"sameAs":41} satisfies Status

// prettier-ignore
export const v2StatusDefaults = {"status":"pending","expiresAt":1795264200000,"revision":1,"requiredApprovals":2,"awaiting":["ada","grace"],"recipients":["ada","grace"],"risk":"critical","defaults":{"members":["timeout","recipients","requiredApprovals"],"reduced":true}} satisfies Status

// prettier-ignore
export const v2StatusDeliveredByClose = {"status":"responded","respondedAt":1734189245000,"response":{"choice":"Vitest","respondedAt":1734189245000},"outcome":"Vitest","source":"human","respondedBy":{"name":"someone on this machine","verified":false},"revision":4,"waiter":"unknown","delivery":{"state":"delivered","attempts":1,"confirmed":"close","deliveredAt":1734189245012}} satisfies Status

// prettier-ignore
export const v2StatusExecuted = {"status":"responded","respondedAt":1795262403000,"outcome":"approve","source":"human","revision":7,"delivery":{"state":"acked","attempts":1,"deliveredAt":1795262403011},"execution":{"state":"failed","durationMs":840,"error":"exit status 1","eventId":52}} satisfies Status

// prettier-ignore
export const v2StatusFollows = {"status":"pending","revision":1,"follows":42} satisfies Status

// prettier-ignore
export const v2StatusFound = {"status":"pending","expiresAt":1795262700000,"revision":1,"waiter":"listening","risk":"high","class":"risky","findings":[{"code":"recursive_delete","risk":"high","text":"Deletes a whole folder with everything in it.","at":"/command","excerpt":"rm -rf ./releases"},{"code":"outside_cwd","risk":"medium","text":"Reaches outside the working folder."}],"intent":{"verb":"Run","object":"rm -rf ./releases","change":"2 files"},"view":{"lines":[{"at":"/command","shell":"sh"}],"commands":[{"at":"/command","to":2,"program":"rm"},{"at":"/command","from":23,"to":28,"program":"…"}],"files":[{"at":"/command","from":7,"to":17,"path":"/srv/releases","op":"delete"}],"unread":[{"at":"/command","from":23,"to":28,"reason":"the program is known only at run time"}]}} satisfies Status

// prettier-ignore
export const v2StatusHandled = {"status":"responded","respondedAt":1795262403000,"outcome":"approve","source":"human","revision":9,"delivery":{"state":"unreachable","attempts":12,"lastError":"connection refused","handledAt":1795262900000}} satisfies Status

// prettier-ignore
export const v2StatusHeld = {"status":"pending","revision":4,"held":{"until":1795262705000,"outcome":"approve","by":{"name":"local user","verified":false},"revision":3}} satisfies Status

// prettier-ignore
export const v2StatusNoQuorum = {"status":"error","outcome":"__no_quorum__","source":"quorum","revision":3,"requiredApprovals":2,"votes":[{"user":"mara","choice":"ship_it","at":1734189300000},{"user":"jun","choice":"abandon","at":1734189310000}]} satisfies Status

// prettier-ignore
export const v2StatusOwners = {"status":"responded","owners":{"state":"matched","fallbackAt":1763800000000},"respondedAt":1734189245000,"response":{"permission":true,"respondedAt":1734189245000},"outcome":"approve","source":"human","expiresAt":1734189354000,"revision":5,"delivery":{"state":"acked","attempts":2,"deliveredAt":1734189245512},"execution":{"state":"failed","durationMs":4187,"error":"Exit code 1"}} satisfies Status

// prettier-ignore
export const v2StatusProbe = {"status":"responded","respondedAt":1734189245000,"response":{"permission":false,"reason":"doctor probe doctor-4fqkxj6y2rz3","respondedAt":1734189245000},"outcome":"deny","source":"rule","reason":"doctor probe doctor-4fqkxj6y2rz3","respondedBy":{"name":"hookback doctor","verified":false,"via":"rule"},"revision":2,"delivery":{"state":"acked","attempts":1,"deliveredAt":1734189245031},"test":true,"probe":true} satisfies Status

// prettier-ignore
export const v2StatusSuperseded = {"status":"error","outcome":"__cancelled__","source":"superseded","revision":2,"delivery":{"state":"none","attempts":0},"supersededBy":9676} satisfies Status

// prettier-ignore
export const v2StatusTest = {"status":"responded","respondedAt":1734189245000,"response":{"permission":true,"respondedAt":1734189245000},"outcome":"approve","source":"human","revision":4,"delivery":{"state":"acked","attempts":1,"deliveredAt":1734189245031},"execution":{"state":"succeeded","durationMs":1},"test":true} satisfies Status

// prettier-ignore
export const v2StatusUnreachable = {"status":"timeout","respondedAt":1734189354000,"response":{"permission":false,"respondedAt":1734189354000},"outcome":"__timeout__","source":"timeout","revision":3,"waiter":"lost","delivery":{"state":"unreachable","attempts":3,"lastError":"nobody listens there","nextAttemptAt":1734189359000}} satisfies Status

// prettier-ignore
export const v2StatusVotes = {"status":"pending","expiresAt":1795262700000,"revision":4,"requiredApprovals":2,"votes":[{"user":"ada","choice":"approve","comment":"Only the old ones.","at":1795262403000}],"awaiting":["grace"],"recipients":["ada","grace"],"edited":{"arguments":{"path":"build/old"},"by":"ada","at":1795262403000,"revision":4},"reminders":1,"escalatedAt":1795262460000,"extended":{"by":"ada","at":1795262465000,"agent":"unreachable","error":"connection refused at 127.0.0.1:50123"},"waiters":3,"notices":[{"channel":"mail","kind":"asked","person":"grace","state":"sent","attempts":1,"at":1795262401000},{"channel":"phone","kind":"reminder","person":"ada","state":"suppressed","why":"cooldown","at":1795262402000},{"channel":"ops","kind":"escalated","state":"failed","error":"The server answered 503.","attempts":5,"at":1795262470000}],"noticeCounts":{"queued":40,"sent":955,"suppressed":4,"failed":1}} satisfies Status

// prettier-ignore
export const v2StatusWithdrawn = {"status":"error","outcome":"__withdrawn__","source":"agent","revision":2,"delivery":{"state":"none","attempts":0}} satisfies Status

// prettier-ignore
export const v2StatusChangeData = {"id":42,"humanInTheLoopStatus":{"status":"pending","revision":1}} satisfies StatusChange

// prettier-ignore
export const v2TestDenialProbe = {"reason":"doctor probe doctor-4fqkxj6y2rz3"} satisfies TestDenial

// prettier-ignore
export const v2TestRequestStarted = {"id":12} satisfies TestRequest

// prettier-ignore
export const v2TestTicketCreated = {"ticket":"4FQKXJ6Y2RZ3N5WB7HCD2EMPTAQK4V6S7L5G3I2O4U6Y5T3R2W4E"} satisfies TestTicket

// prettier-ignore
export const v2TokenMade = {"id":"t_91c2","name":"nightly build","prefix":"hubin_4fGh","person":"ada","apps":["shop-*"],"createdAt":1795262400000,"lastUsedAt":1795262460000,"expiresAt":1803038400000,"secret":"hubin_4fGhNotARealOne"} satisfies Token

// prettier-ignore
export const v2TokenDraftAgent = {"name":"nightly build","apps":["shop-*"],"expiresAt":1803038400000} satisfies TokenDraft

// prettier-ignore
export const v2TokenDraftPerson = {"name":"ada's laptop","person":"ada"} satisfies TokenDraft

// prettier-ignore
export const v2ViewingMessageRequest = {"type":"looking","id":41,"focused":true} satisfies ViewingMessage

// prettier-ignore
export const v2WaitStatusEnded = {"waiting":false,"ended":true,"after":87} satisfies WaitStatus

// prettier-ignore
export const v2WaitStatusWaiting = {"waiting":true,"ended":false,"after":87} satisfies WaitStatus
