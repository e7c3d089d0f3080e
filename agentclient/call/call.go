// Package call reads the tool calls of coding agents: which commands a call runs, which files and
// hosts it touches, and what of it can't be read.
//
// Everything that judges or shows a call takes the value that Read returns, so that all of it agrees.
// A part that can't be read is in Call.Unread and never counts as harmless. The package does no I/O.
package call

import "encoding/json"

// Call is the reading of one tool call.
type Call struct {
	Agent, Tool string // as the agent names them
	// Names are the common names of the tool: Bash, Read, Write, Edit, WebFetch, WebSearch, Task, or
	// mcp__server__tool. More than one if the name can be read in several ways: rules that ask or deny
	// match either, rules that allow must match all of them. Empty: the tool has no common name.
	Names     []string
	Dir       string    // working directory of the call, absolute with slashes; empty: unknown
	Dirs      []string  // directories that its arguments name to work in, which its tool may ignore
	Lines     []Line    // the command lines, as the call has them
	Commands  []Command // every simple command that can run, in order, nested ones after the command that runs them
	Files     []File    // every path that the call reads, writes, deletes, moves or lists
	MayBe     []File    // what Files may be instead, if it is not certain where a command runs, and paths in Scripts
	Hosts     []Host    // every host that the call contacts
	Scripts   []Script  // code in a language that is not read, such as Python's
	Texts     []Span    // text that no program runs: bodies of here-documents, arguments that are data
	Unread    []Unread  // the parts that could not be read
	Arguments json.RawMessage

	arguments   *Value // parsed
	isKnown     bool   // the tool is in the table
	stdin       Word   // text that the tool types into its command
	wrapped     int    // commands in the operands of others
	written     map[string]*writtenFile
	ran         map[string]bool // files, by their base names
	scriptBytes int             // in all scripts
	expanded    int             // words with {a,b}
}

// Span is a part of a string in Call.Arguments. The zero value is the whole call.
type Span struct {
	Pointer  string // JSON pointer (RFC 6901) of the string, or LongPointer
	From, To int    // byte offsets in the decoded string
}

// Line is a command line of a call.
type Line struct {
	Text  string
	Shell Shell
	Span  Span
}

// Command is a simple command: a program with its words.
type Command struct {
	Words       []Word // the program first; empty: only assignments or redirects
	Assignments []Word // NAME=value before the program
	Redirects   []Redirect
	Before      Operator // between it and the command before it
	Shell       Shell
	Depth       int    // 0: typed by the agent; 1: in a substitution or a script of such a command; and so on
	Dir         string // where it runs, after every cd before it; empty: unknown
	By          int    // index in Call.Commands of the command that runs it, as sudo; -1: the agent's shell
	Input       Range  // commands whose output it reads through a pipe, with those that they run
	// IsBackground: nothing waits for its end.
	IsBackground bool
	Span         Span

	index int
}

// Range is a part of Call.Commands: the indexes from From up to but not including To.
type Range struct{ From, To int }

// Script is code that a command runs and that is not read, such as that of python -c.
type Script struct {
	Program string // that runs it
	Text    string
	Span    Span
	Command int // index in Call.Commands of the one that has it
}

// Word is one word of a command without its quotes.
type Word struct {
	Text     string
	Dynamic  bool // an expansion that the reading can't know changes it
	Splits   bool // an unquoted expansion may become several words, or none
	Pattern  bool // an unquoted pattern (*, ?, […]) may become file names
	IsQuoted bool // it has a quoted part
	// IsEscaped: printable characters are written as numbers, as in $'\x72m', which only hides them.
	IsEscaped bool
	IsProcess bool  // it is <(…) or >(…)
	Vars      []Var // variables in it, in order
	Subs      Range // commands in its substitutions
	isMany    bool  // it may become any words: $@, or a substitution without quotes
	Span      Span
}

// Var is a variable in a word.
type Var struct {
	Name       string
	IsAssigned bool // the line assigned it before
	MayBeEmpty bool // it may be unset, unlike $1 and ${NAME:?}
	IsTested   bool // only its length, or whether it is set, is in the word
}

// Operator is between a command and the one before it.
type Operator string

// Operators. None is the first command of a line.
const (
	None         Operator = ""
	Sequence     Operator = ";" // also a line break
	And          Operator = "&&"
	Or           Operator = "||"
	Pipe         Operator = "|"
	Background   Operator = "&"
	Substitution Operator = "$("     // $(…), `…`, <(…), >(…)
	RunBy        Operator = "run by" // an argument or input of another command, which runs it
)

// Redirect is an input or output of a command.
type Redirect struct {
	FD     string // file descriptor before it; empty: 0 of an input, 1 of an output
	Op     string // <, >, >>, >|, &>, &>>, >&, <>, <<< or <<
	Target Word   // of << the body
	File   int    // index in Call.Files of the target; -1: none
}

// Shell is the language of a command line.
type Shell string

// Shells.
const (
	POSIX      Shell = "sh" // sh, bash, zsh, dash, ksh
	PowerShell Shell = "powershell"
	Cmd        Shell = "cmd"
)

// File is a path that a call touches.
type File struct {
	Path string // absolute with slashes if Call.Dir is known, and as the call gives it otherwise; may have an Expansion
	Op   FileOp
	Span Span

	Command   int   // index in Call.Commands of the command that has it in its words or redirects; -1: an argument of the tool
	IsPattern bool  // a shell may replace it by the names that it matches
	Word      *Word // with the path, or with its option, whose text is only the path; nil: a redirect or an argument
}

// FileOp is the effect of a call on a file.
type FileOp string

// Operations. List also stands for a search of names.
const (
	ReadFile   FileOp = "read"
	WriteFile  FileOp = "write" // creates or changes
	DeleteFile FileOp = "delete"
	MoveFile   FileOp = "move" // the old name; the new one is written
	ListFile   FileOp = "list"
	UseFile    FileOp = "use" // unknown what the call does with it
)

// Host is a host that a call contacts.
type Host struct {
	Name   string // without port
	Scheme string // http, https, ssh, …; empty: unknown
	Method string // of HTTP; empty: unknown
	Span   Span
}

// Unread is a part of a call that could not be read.
type Unread struct {
	Reason string // the end of the sentence "The call can't be read completely: …"
	Span   Span
}
