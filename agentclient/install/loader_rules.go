package install

// loaders are the rules of each agent. The end-to-end tests put examples of them before the agent's own program, so that
// they hold for its ProvenVersion; where no registry has the program, they are from its documentation or source.
var loaders = map[string]loader{
	"claude-code": {mark: true, maxBytes: 2 << 20, members: claudeMembers},
	"codex": {closed: "description hooks", members: `
string|null: description
object: hooks
list: hooks.` + codexEvents + `
at hooks.` + codexEvents + `.*
object: .
string|null: matcher
list: hooks
object: hooks.*
required "command"|"mcp_tool"|"prompt"|"agent": hooks.*.type
required string: hooks.*command.command hooks.*mcp_tool.server hooks.*mcp_tool.tool
natural|null: hooks.*command.timeout hooks.*command.additionalContextLimit hooks.*mcp_tool.timeout
boolean: hooks.*command.async
string|null: hooks.*command.commandWindows hooks.*command.statusMessage hooks.*mcp_tool.statusMessage
`},
	"copilot": {members: `
1: version
boolean: disableAllHooks
object: hooks
`}, // it drops a wrong entry alone
	"gemini": {comments: true, refuses: true},
	"qwen":   {comments: true, mark: true, refuses: true},
	"droid": {comments: true, members: `
list: SessionStart,SessionEnd,UserPromptSubmit,PreToolUse,PostToolUse,Notification,SubagentStop,PreCompact,Stop
at SessionStart,SessionEnd,UserPromptSubmit,PreToolUse,PostToolUse,Notification,SubagentStop,PreCompact,Stop.*
object: .
string: matcher
required list: hooks
object: hooks.*
required "command": hooks.*.type
required string: hooks.*.command
number: hooks.*.timeout
`},
	"cursor":      {comments: true},
	"crush":       {refuses: true}, // it parses with encoding/json
	"windsurf":    {},
	"antigravity": {},
	"kiro":        {},
}

// codexEvents are the events that Codex knows. It ignores others.
const codexEvents = "SessionStart,SessionEnd,UserPromptSubmit,PreToolUse,PermissionRequest,PostToolUse,SubagentStart,SubagentStop," +
	"PreCompact,PostCompact,Stop,Interrupt"

// claudeMembers are the members that Claude Code validates. It drops the whole file for the first wrong one; a wrong
// entry for an event that gates no call only drops that entry.
const claudeMembers = `
string: $schema apiKeyHelper proxyAuthHelper awsCredentialExport awsAuthRefresh gcpAuthRefresh processWrapper attributionProject model
string: modelCatalogUrl modelCatalogPublicKey prUrlTemplate otelHeadersHelper outputStyle language advisorModel agent minimumVersion
string: requiredMinimumVersion requiredMaximumVersion downloadsMirrorUrl plansDirectory timeFormat timeZone autoMemoryDirectory claudeMd
string: pluginTrustMessage
boolean: respectGitignore wslInheritsWindowsSettings includeCoAuthoredBy includeGitInstructions disableAllHooks disableReplyCheck
boolean: workflowKeywordTriggerEnabled bashEditDiffEnabled respondToBashCommands allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp
boolean: allowNestedModelAccessUnderForceLogin forceRemoteSettingsRefresh spinnerTipsEnabled clawdFileProgressEnabled
boolean: syntaxHighlightingDisabled terminalTitleFromRename alwaysThinkingEnabled fastMode promptSuggestionEnabled emojiCompletionEnabled
boolean: awaySummaryEnabled showClearContextOnPlanAccept prefersReducedMotion doneMeansMerged totalTokensReminderAfterUserTurn
boolean: autoMemoryEnabled autoDreamEnabled showThinkingSummaries verbose autoCompactEnabled precomputeCompactionEnabled idleCompaction
boolean: switchModelsOnFlag autoScrollEnabled wheelScrollAccelerationEnabled showTurnDuration showMessageTimestamps
boolean: terminalProgressBarEnabled todoFeatureEnabled inputNeededNotifEnabled agentPushNotifEnabled
boolean|null: syncClaudeAiSkills syncClaudeAiPlugins enforceAvailableModels enableAllProjectMcpServers disableClaudeAiConnectors
boolean|null: disableBundledSkills disableAgentView disableRemoteControl disableWorkflows disableArtifact enableArtifact enableWorkflows
boolean|null: disableSkillShellExecution disableWindowsBashCommandSplit allowManagedHooksOnly allowManagedPermissionRulesOnly
boolean|null: allowManagedMcpServersOnly disableCommandPluginSources disableSideloadFlags skipWebFetchPreflight fastModePerSessionOptIn
boolean|null: responseComparisonEnabled channelsEnabled skipDangerousModePermissionPrompt skipWorkflowUsageWarning
boolean|null: autoContinueAtUsageLimit fileCheckpointingEnabled remoteControlAtStartup isolatePeerMachines autoUploadSessions
count: cleanupPeriodDays skillListingMaxDescChars totalTokensReminderBudget
natural: desktopSessionCleanupPeriodDays sshConfigs.*.sshPort
share: feedbackSurveyRate skillListingBudgetFraction
positive: skillListingBudgetFraction
list: fallbackModel availableModels allowedHttpHookUrls httpHookAllowedEnvVars pluginSuggestionMarketplaces companyAnnouncements
list: claudeMdExcludes allowedChannelPlugins sshConfigs
string: fallbackModel.* availableModels.* allowedHttpHookUrls.* httpHookAllowedEnvVars.* pluginSuggestionMarketplaces.*
string: companyAnnouncements.* claudeMdExcludes.*
string|list: enabledMcpjsonServers disabledMcpjsonServers forceLoginOrgUUID
string: enabledMcpjsonServers.* disabledMcpjsonServers.* forceLoginOrgUUID.*
list|null: strictKnownMarketplaces blockedMarketplaces
object: breakReminder quietHours env permissions worktree sandbox remote voice remoteTools modelOverrides skillOverrides enabledPlugins
object: pluginConfigs statusLine fileSuggestion spinnerVerbs strictKnownMarketplaces.* blockedMarketplaces.* allowedChannelPlugins.*
object: sshConfigs.* pluginConfigs.*
object|boolean: attribution
string: modelOverrides.*
"on"|"name-only"|"user-invocable-only"|"off": skillOverrides.*
required "command": statusLine.type fileSuggestion.type
required string: statusLine.command fileSuggestion.command sshConfigs.*.id sshConfigs.*.name sshConfigs.*.sshHost
number: statusLine.padding
boolean: statusLine.hideVimModeIndicator
"default"|"fullscreen": tui
"latest"|"stable"|"rc": autoUpdatesChannel
"first-wins"|"merge": parentSettingsBehavior managedSourcesBehavior
"bash"|"powershell": defaultShell
"unrestricted"|"small"|"medium"|"large": workflowSizeGuideline
"off"|"infinite"|"fixed"|"countdown"|"padded-countdown": totalTokensReminder
"transient"|"ask": daemonColdStart
"notify"|"quiet"|"off"|null: feedbackDrafts
"disable"|null: disableAutoMode
at permissions
list: allow deny ask additionalDirectories
string: additionalDirectories.*
"acceptEdits"|"auto"|"bypassPermissions"|"default"|"dontAsk"|"manual"|"plan": defaultMode
"disable": disableBypassPermissionsMode disableAutoMode
boolean: denyInsteadOfPrompting blockReadsOutsideWorkingDirectories blockFileToolReadsOutsideWorkingDirectories
boolean: blockWritesOutsideWorkingDirectories
at sandbox
boolean: enabled failIfUnavailable autoAllowBashIfSandboxed allowUnsandboxedCommands enableWeakerNestedSandbox allowNestedUserNamespaces
boolean: enableWeakerNetworkIsolation allowAppleEvents network.strictAllowlist network.allowManagedDomainsOnly network.allowAllUnixSockets
boolean: network.allowLocalBinding filesystem.allowManagedReadPathsOnly filesystem.disabled credentials.allowPlaintextInject
object: network filesystem credentials windows ignoreViolations ripgrep network.tlsTerminate credentials.sigv4
list: excludedCommands ripgrep.args ignoreViolations.* network.allowedDomains,deniedDomains,allowUnixSockets,allowMachLookup
list: filesystem.allowWrite,denyWrite,denyRead,allowRead credentials.files,envVars,awsPairs
string: excludedCommands.* ripgrep.args.* ignoreViolations.*.* network.allowedDomains,deniedDomains,allowUnixSockets,allowMachLookup.*
string: filesystem.allowWrite,denyWrite,denyRead,allowRead.*
text: network.tlsTerminate.caCertPath network.tlsTerminate.caKeyPath
required string: ripgrep.command credentials.files.*.path credentials.envVars.*.name
required string: credentials.awsPairs.*.accessKeyIdVar credentials.awsPairs.*.secretAccessKeyVar
required "deny"|"mask": credentials.files,envVars.*.mode
number: network.httpProxyPort network.socksProxyPort
"sandboxuser"|"mxc": windows.backend
object: credentials.files,envVars,awsPairs.*
at worktree
list: symlinkDirectories sparsePaths
string: symlinkDirectories,sparsePaths.*
"fresh"|"head": baseRef
at breakReminder
boolean: enabled
count: intervalMinutes breakThresholdMinutes
string: message
at .
boolean: quietHours.enabled voice.enabled voice.autoSubmit remoteTools.allowUnattendedServing attribution.sessionUrl
clock: quietHours.start quietHours.end
string: remote.defaultEnvironmentId attribution.commit attribution.pr
"hold"|"tap": voice.mode
required "append"|"replace": spinnerVerbs.mode
required list: spinnerVerbs.verbs
string: spinnerVerbs.verbs.* enabledPlugins.*.* sshConfigs.*.sshIdentityFile sshConfigs.*.startDirectory
list|boolean: enabledPlugins.*
object: pluginConfigs.*.options,mcpServers pluginConfigs.*.mcpServers.*
string|number|boolean|list: pluginConfigs.*.options.* pluginConfigs.*.mcpServers.*.*
string: pluginConfigs.*.options.*.* pluginConfigs.*.mcpServers.*.*.*
required string: allowedChannelPlugins.*.marketplace allowedChannelPlugins.*.plugin
required string: strictKnownMarketplaces.*.source blockedMarketplaces.*.source
object: hooks
list|null: hooks.PreToolUse,PermissionRequest,PreSkillShellCommand
at hooks.PreToolUse,PermissionRequest,PreSkillShellCommand.*
object: .
string: matcher
required list: hooks
object: hooks.*
required "command"|"prompt"|"agent"|"http"|"mcp_tool": hooks.*.type
at hooks.PreToolUse,PermissionRequest,PreSkillShellCommand.*.hooks.*command
required string: command
list: args
string: args.* statusMessage if rewakeMessage rewakeSummary
positive: timeout
boolean: async asyncRewake once
"bash"|"powershell": shell
"continue"|"block": onFailure
`
