package agentclient

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Reply is the meaning of a person's chat message.
type Reply string

// Meanings of a message. Only ReplyYes approves anything.
const (
	ReplyUnclear Reply = ""
	ReplyYes     Reply = "yes"
	ReplyNo      Reply = "no"
)

// String returns yes, no or unclear.
func (r Reply) String() string { return cmp.Or(string(r), "unclear") }

// ParseReply classifies a person's reply to a yes-or-no question, in about twenty
// languages. Pass the person's own words, never a model's summary of them.
//
// ReplyYes requires a message that only agrees: "yes, but not the images", "yes?" and
// "yes and no" are ReplyUnclear, as is every message that is not recognized, including
// an empty one. Ask again in that case. A refusal may continue with a reason after
// punctuation.
func ParseReply(text string) Reply {
	if utf8.RuneCountInString(text) > 10_000 {
		return ReplyUnclear
	}
	words := splitWords(text)
	var yes, no, negated, other int
	firstNo := 0 // number of words in a leading refusal
	for i := 0; i < len(words); {
		reply, n := matchPhrase(words[i:])
		switch {
		case reply == ReplyYes:
			yes++
		case reply == ReplyNo:
			no++
			if i == 0 {
				firstNo = n
			}
			if n == 1 && slices.Contains(negations, words[i].text) {
				negated++
			}
		case n == 0:
			other++
			n = 1
		}
		i += n
	}
	switch {
	case strings.ContainsAny(text, "?？؟~") || yes > 0 && no > 0 || negated > 0 && no > 1:
		return ReplyUnclear
	case yes > 0 && other == 0:
		return ReplyYes
	case no > 0 && (other == 0 || firstNo > 0 && words[firstNo-1].endsClause):
		return ReplyNo
	default:
		return ReplyUnclear
	}
}

// word is one word or one other symbol, such as an emoji.
type word struct {
	text       string
	endsClause bool // a comma, period or similar follows
}

func splitWords(text string) (words []word) {
	text = spellingNormalizer.Replace(strings.ToLower(text))
	inWord := false
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r) || r == '\'' && inWord:
			if !inWord {
				words = append(words, word{})
				inWord = true
			}
			words[len(words)-1].text += string(r)
			continue
		case strings.ContainsRune(".,;:!—–\n。，！、；", r) && len(words) > 0:
			words[len(words)-1].endsClause = true
		case unicode.IsSpace(r) || strings.ContainsRune("-\"“”„«»()[]*_`…¡।'"+".,;:!—–。，！、；", r):
		default:
			words = append(words, word{text: string(r)}) // an emoji or an unknown symbol
		}
		inWord = false
	}
	return words
}

// spellingNormalizer unifies spelling variants: apostrophes, decomposed accents and
// emoji skin tones.
var spellingNormalizer = strings.NewReplacer(
	"’", "'", "ʼ", "'", "i\u0301", "í", "i\u0300", "ì", "a\u0303", "ã", "a\u0308", "ä", "o\u0301", "ó",
	"\ufe0f", "", "🏻", "", "🏼", "", "🏽", "", "🏾", "", "🏿", "",
)

// matchPhrase returns the meaning of the longest known phrase that words starts with,
// and its number of words. n is 0 if no phrase matches. Courtesies such as "please"
// match but mean nothing.
func matchPhrase(words []word) (reply Reply, n int) {
	for n = min(len(words), longestPhrase); n > 0; n-- {
		var phrase strings.Builder
		for i, w := range words[:n] {
			if i > 0 {
				phrase.WriteByte(' ')
			}
			phrase.WriteString(w.text)
		}
		if reply, known := phrases()[phrase.String()]; known {
			return reply, n
		}
	}
	return ReplyUnclear, 0
}

const longestPhrase = 4

// negations reverse the meaning of the words that follow: "don't cancel" is no refusal.
var negations = []string{"don't", "dont", "not", "never"}

// phrases maps each known phrase to its meaning. Words that agree in one language but
// mean something else in another (tak, ya, jo) are left out of the approvals. Refusals
// are recognized more broadly.
var phrases = sync.OnceValue(func() map[string]Reply { return phraseTable(phraseLists) })

var phraseLists = map[Reply]string{
	ReplyYes: `
		y, yes, yeah, yep, yup, yea, ok, okay, sure, sure thing, proceed, please proceed, go ahead, go for it, confirm, confirmed, i confirm, do it,
		please do, please do it, do that, ship it, run it, continue, approve, approved, i approve, allow, allowed, allow it, accept, accepted, agreed, i agree,
		affirmative, absolutely, definitely, certainly, of course, correct, sounds good, looks good, lgtm, yes you may, you may, make it so,
		ja, jawohl, jep, klar, einverstanden, mach das, in ordnung, genehmigt, passt,
		oui, ouais, d'accord, vas y, bien sûr, allez y, confirmé,
		sí, si, claro, vale, de acuerdo, adelante, dale, confirmo, por supuesto,
		sì, va bene, certo, d'accordo, procedi, confermo,
		sim, claro que sim, pode, pode fazer, confirmado,
		akkoord, zeker, ga je gang, doe maar, kyllä, joo, selvä, okej, oké, oke, jajamän, jepp,
		да, ага, хорошо, давай, конечно, согласен, согласна, подтверждаю, ладно, da, ano, igen, dobrze, potwierdzam, zgoda, ναι, εντάξει,
		evet, tamam, olur, onaylıyorum, نعم, موافق, כן, אישור, हाँ, हां, ठीक है, có, đồng ý, setuju,
		はい, うん, いいよ, お願いします, 了解, 承認, 是, 是的, 好, 好的, 可以, 行, 同意, 确认, 確認, 没问题, 네, 예, 응, 좋아요, 확인, 승인,
		👍, 👌, ✅, ✔, ☑, 🆗`,
	ReplyNo: `
		n, no, nope, nah, cancel, cancel it, cancel that, stop, stop it, abort, don't, dont, do not, don't do it, do not do it, don't do that, do not do that,
		do not proceed, don't proceed, don't continue, do not continue, don't run it, do not run it, please don't, please do not, never, nevermind, never mind, not, not now,
		not yet, no way, no thanks, no thank you, absolutely not, certainly not, definitely not, of course not, not ok, not okay, i disagree,
		do not approve, don't approve, do not allow, don't allow, do not confirm, don't confirm, not approved, not allowed, not confirmed, not agreed,
		deny, denied, reject, rejected, refuse, refused, decline, declined, negative, forget it,
		nein, nö, nee, ne, stopp, abbrechen, lieber nicht, auf keinen fall, bitte nicht, nicht,
		non, pas, annuler, annule, arrête, surtout pas, pas maintenant, pas d'accord,
		cancelar, cancela, para, detente, nunca, annulla, fermati, mai, não, nao, pare,
		niet, nei, nej, ei, älä, нет, не надо, не, отмена, стоп, ні, nie, nem, nu, ανακύρωση, όχι, hayır, iptal, لا, إلغاء, לא, नहीं, không, tidak, jangan, batal,
		いいえ, いや, だめ, やめて, 中止, 不, 不是, 不要, 不行, 不可以, 不同意, 否, 取消, 停止, 아니요, 아니, 아뇨, 취소, 안돼요, 안돼,
		👎, ❌, ✖, ⛔, 🚫, 🛑, ✋`,
	ReplyUnclear: `
		please, thanks, thank you, thx, pls, bitte, danke, merci, s'il te plaît, s'il vous plaît, por favor, gracias, grazie, per favore, obrigado, obrigada,
		alsjeblieft, bedankt, tack, takk, спасибо, пожалуйста, ありがとう, 谢谢, 請, 请, 감사합니다, teşekkürler, शुक्रिया, 🙏`,
}

func phraseTable(lists map[Reply]string) map[string]Reply {
	table := map[string]Reply{}
	for reply, list := range lists {
		for phrase := range strings.SplitSeq(list, ",") {
			table[strings.TrimSpace(phrase)] = reply
		}
	}
	return table
}
