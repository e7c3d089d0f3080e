package agentclient_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient"
)

func TestParseReply_AcceptsPlainYes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"yes", "y", "YES", "Yes.", " yes \n", "yes!", "Yes!!!", "yes, please", "yes please", "Yes, thanks.", "yeah", "yep", "yup", "ok", "OK", "Okay.", "okay, do it",
		"sure", "sure, go ahead", "proceed", "Please proceed.", "go ahead", "confirm", "do it", "yes, do it", "yes yes", "**yes**", `"yes"`, "“Yes”", "(yes)", "yes…", "`yes`",
		"of course", "absolutely!", "approved", "lgtm", "I confirm", "go\nahead", "yes -- go ahead",
		"ja", "Ja, bitte!", "jawohl", "in Ordnung", "oui", "Oui, merci.", "d'accord", "d’accord", "vas-y", "sí", "¡Sí!", "si\u0301", "sí, por favor", "vale", "sì", "va bene",
		"sim", "да", "Да!", "хорошо", "da", "ano", "igen", "ναι", "evet", "tamam", "نعم", "כן", "हाँ", "có", "はい", "はい。", "是的", "好的，谢谢", "可以", "네", "예", "kyllä",
		"👍", "👍🏽", "👍👍", "yes 👍", "yes👍", "✅", "✔️", "👌🏻", "ok 🙏",
	} {
		require.Equal(t, agentclient.ReplyYes, agentclient.ParseReply(text), "%q", text)
	}
}

func TestParseReply_NoMayHaveReason(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"no", "n", "NO!", "nope", "No.", "no thanks", "no, thank you", "cancel", "stop", "STOP!!", "abort", "don't", "don’t", "dont", "do not", "Don't do it.", "do not proceed",
		"please don't", "nevermind", "never mind", "never", "not now", "not yet", "no way", "absolutely not", "of course not", "not ok", "deny", "rejected", "no no no", "Not.",
		"No, use the staging database instead", "no: wrong branch", "No. The tests fail.", "no! that deletes everything", "no\nit is too early", "stop, wrong folder",
		"nein", "Nein, danke.", "nö", "non", "pas maintenant", "não", "нет", "не надо", "nie", "ne", "hayır", "لا", "לא", "नहीं", "いいえ", "不", "不要", "不可以", "아니요", "όχι",
		"👎", "👎🏿", "❌", "no 👎", "🛑", "✋",
	} {
		require.Equal(t, agentclient.ReplyNo, agentclient.ParseReply(text), "%q", text)
	}
}

func TestParseReply_OtherTextIsUnclear(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "\n", ".", "...", "?", "!", "maybe", "hm", "later", "wait", "I don't know", "what?", "yes?", "ok?", "y?", "no?", "yes？",
		"yes but not the images", "yes, but only tmp", "yes if the tests pass", "ok, after lunch", "yes, and also delete the branch", "sure, why", "yes sir, never",
		"yes and no", "yes/no", "yes no", "no, yes", "no, go ahead", "No. Yes, do it.", "yeah no", "👍👎", "no 👍", "y n", "no, it's ok to run",
		"no problem", "no worries", "no objections", "nothing against it", "don't cancel", "don't stop", "do not worry", "don't hesitate", "never say never", "not sure", "sure not",
		"I said yes to the other one", "she said \"yes\"", "the answer is yes", "yesterday", "okapi", "noon", "know", "yesno", "confirmed: false", "confirmed = true",
		"1", "0", "true", "yes 1", "yes $(x)", "~~yes~~", "ye\u200bs", "yе\u0455", "ｙｅｓ", "𝐲𝐞𝐬", "y e s", "yes 🙂", "🤔", "tak", "ya", "jo", "please", "thanks", "bitte", "谢谢",
		"是的请继续删除", "ja aber", "oui mais pas tout", "sí pero no", "https://yes.example/", "yes@no.example", "\x00", "yes\x00", "\xff", "yes" + strings.Repeat(" yes", 5000),
	} {
		require.Equal(t, agentclient.ReplyUnclear, agentclient.ParseReply(text), "%q", text)
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add("but")
	f.Add("不")
	f.Fuzz(func(t *testing.T, more string) {
		switch agentclient.ParseReply(more) {
		case agentclient.ReplyYes:
			require.Equal(t, agentclient.ReplyUnclear, agentclient.ParseReply("no, "+more))
		case agentclient.ReplyNo:
			require.NotEqual(t, agentclient.ReplyYes, agentclient.ParseReply("yes, "+more))
		}
	})
}
