package risk

import (
	"testing"

	"github.com/hookback/hookback/server/internal/risk/shell"
)

func FuzzParse(f *testing.F) {
	for _, v := range deletionCases {
		f.Add(v.command)
	}
	for _, command := range harmlessCommands {
		f.Add(command)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []shell.Dialect{shell.POSIX, shell.PowerShell, shell.WindowsCmd} {
			words := shell.MaxWords
			commands, bad := shell.Parse(&shell.Source{Text: text}, d, &words, nil)
			if bad > len(text) {
				t.Fatalf("error position %d in a text of %d", bad, len(text))
			}
			for _, c := range commands {
				for _, w := range c.Words {
					if w.From < 0 || w.To < w.From || w.To > len(w.Src.Text) {
						t.Fatalf("word from %d to %d in a text of %d", w.From, w.To, len(w.Src.Text))
					}
				}
			}
		}
	})
}
