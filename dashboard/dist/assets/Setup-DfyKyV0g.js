import"./disclose-version-xihTtKlq.js";import{$ as e,A as t,B as n,D as r,F as i,G as a,H as o,L as s,N as c,St as l,V as u,Y as d,at as f,bt as p,h as m,lt as h,mt as g,n as _,nt as v,pt as y,st as b,tt as x,x as S,yt as C}from"./index-client-DlhH12jP.js";import{M as w,j as ee}from"./index-C9VfrJB5.js";import{t as T}from"./hand-BiMveUeY.js";import{c as E,g as D,i as O,p as te,y as ne}from"./live.svelte-DvSo5-2C.js";import{S as re,n as k}from"./events-CDZW8ob4.js";var A=`-H 'Content-Type: application/json'`,j=e=>`cat > ~/.claude/hookback.sh <<'EOF'
event=$(cat)
field() { printf '%s' "$event" | grep -o "\\"$1\\" *: *\\"[^\\"]*\\"" | head -n 1 | sed 's/.*: *"//; s/"$//'; }
printf '{"source_app":"claude-code","session_id":"%s","hook_event_type":"%s","payload":%s}' \\
  "$(field session_id)" "$(field hook_event_name)" "$event" |
  curl -s -m 3 -o /dev/null ${A} --data-binary @- '${e}/events'
exit 0
EOF`,M=[`SessionStart`,`UserPromptSubmit`,`PreToolUse`,`PostToolUse`,`PostToolUseFailure`,`Notification`,`SubagentStop`,`Stop`,`SessionEnd`];function N(){let e=e=>e.includes(`Tool`)?`"matcher": "*", `:``;return`{\n  "hooks": {\n${M.map(t=>`    "${t}": [{${e(t)}"hooks": [{"type": "command", "command": "sh ~/.claude/hookback.sh", "timeout": 5}]}]`).join(`,
`)}\n  }\n}`}var P=e=>`{
  "source_app": "${e}", "session_id": "setup", "hook_event_type": "PermissionRequest", "payload": {},
  "humanInTheLoop": {"type": "permission", "question": "May I delete ./build?"}
}`,F=e=>`python3 - <<'EOF'
import json, urllib.request

hub = "${e}"

def call(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(hub + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")

asked = call("/events", {
    "source_app": "from-python", "session_id": "setup",
    "hook_event_type": "PermissionRequest", "payload": {},
    "humanInTheLoop": {"type": "permission", "question": "May I delete ./build?"},
})
answer = None
while answer is None:  # each call waits until somebody answers, 30 s at most
    answer = call(f"/events/{asked['id']}/response?wait=30")
print("approved" if answer.get("permission") else "not approved")
EOF`,I=e=>`cat > /tmp/hookback-ask.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hookback/hookback/agentclient"
)

func main() {
	client := agentclient.New(agentclient.Options{
		Hubs: []string{"${e}"}, SourceApp: "from-go",
	})
	defer client.Close()
	decision, err := client.AskPermission(context.Background(), "May I delete ./build?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("approved:", decision.Approved())
}
EOF
go run /tmp/hookback-ask.go`;function ie(e){let t=`${[`http://127.0.0.1:4000`,`http://localhost:4000`].includes(e)?``:`HOOKBACK_URL='${e}' `}go run ./agentclient/cmd/hookback`,n=`Run it in the directory of the Hookback repository, with Go installed.`,r=`The hub must be reachable at ${e} from where you run it: curl ${e}/healthz answers “ok”.`,i=`In a terminal`;return[{id:`ask`,title:`Ask from a terminal`,text:`The command waits for your answer: its exit status is 0 for yes and 1 for no, so a script can go on or stop.`,commands:[{label:i,text:`${t} ask 'May I delete ./build?' --app from-ask`}],app:`from-ask`,trouble:[n,r,`${t} help shows what else it can do.`]},{id:`send`,title:`Tell, without asking`,text:`An event that asks nothing shows up in the stream.`,commands:[{label:i,text:`${t} send --type Notification --payload '{"message": "Hello"}' --app from-send`}],app:`from-send`,trouble:[n,r]},{id:`claude`,title:`Connect Claude Code`,text:`Its hooks tell the hub what it does: prompts, tools, failures, the end of a turn. It never waits for the hub longer than three seconds.`,commands:[{label:`1. The hook`,text:j(e),where:`in a terminal`},{label:`2. Its settings`,text:N(),where:`into ~/.claude/settings.json`}],app:`claude-code`,trouble:[`Claude Code reads its settings when it starts: begin a new session.`,`If settings.json has "hooks" already, add the entries to those that are there.`,`The hook needs curl. Try it by hand: echo '{"session_id":"s1","hook_event_name":"Stop"}' | sh ~/.claude/hookback.sh`,r]},{id:`curl`,title:`curl`,text:`One POST is all the protocol takes. The answer stays with the hub until somebody fetches it.`,commands:[{label:i,text:`curl -s '${e}/events' ${A} -d '${P(`from-curl`)}'`}],app:`from-curl`,trouble:[r,`A refusal of the hub says in its JSON what is wrong.`]},{id:`python`,title:`Python`,text:`Nothing but the standard library: it asks, waits, and prints what you decided.`,commands:[{label:i,text:F(e)}],app:`from-python`,trouble:[`It needs Python 3.`,r]},{id:`go`,title:`Go`,text:`With the client library the hub dials the answer back at once, and proves that it is the hub.`,commands:[{label:i,text:I(e)}],app:`from-go`,trouble:[n,r]}]}function ae(e,t){let n=new Map;for(let r of e)if(t.has(r.source_app)&&!n.has(r.source_app)&&(n.set(r.source_app,r),n.size===t.size))break;return n}var oe=e=>({source_app:`demo`,session_id:e,hook_event_type:`PermissionRequest`,payload:{},humanInTheLoop:{type:`permission`,question:`May I delete ./build?`,timeout:600,risk:`low`,toolCall:{name:`Bash`,arguments:{command:`rm -r ./build`,description:`Remove the build`}},context:{why:`This is a demonstration. Nothing runs and nothing is deleted, whatever you answer.`}}}),L=(r,a=l,o=l)=>{var s=R();let u;var f=e(s),m=e=>{w(e,{size:16,strokeWidth:2.6})},h=e=>{var t=n();d(()=>c(t,o())),i(e,t)};t(f,e=>{a()?e(m):e(h,-1)}),p(s),d(()=>u=S(s,1,`tick svelte-3yespi`,null,u,{done:a()})),i(r,s)},R=s(`<span aria-hidden="true"><!></span>`),se=s(`<span><!></span>`),ce=s(`<span class="said svelte-3yespi"> </span>`),le=s(`<a class="btn">Answer it in the inbox</a>`),ue=s(`<p class="error svelte-3yespi" role="alert"> </p>`),de=s(`<span class="hint"> </span>`),z=s(`<figure class="svelte-3yespi"><figcaption class="svelte-3yespi"><span> <!></span> <!></figcaption> <pre tabindex="0" role="region" class="svelte-3yespi"><code> </code></pre></figure>`),B=s(`<li> </li>`),V=s(`<li class="step svelte-3yespi"><!> <div class="body svelte-3yespi"><div class="head svelte-3yespi"><h2 class="svelte-3yespi"> </h2> <!></div> <p class="svelte-3yespi"> </p> <!> <details class="svelte-3yespi"><summary class="svelte-3yespi">Nothing arrives?</summary> <ul class="svelte-3yespi"></ul></details></div></li>`),fe=s(`<div class="page svelte-3yespi"><header class="svelte-3yespi"><h1>Your agents can raise a hand now</h1> <p class="svelte-3yespi">This hub listens at <code></code>. Each step ticks itself when its first event arrives.</p></header> <ol><li class="step svelte-3yespi" data-testid="step-demo"><!> <div class="body svelte-3yespi"><div class="head svelte-3yespi"><h2 class="svelte-3yespi">Raise a hand yourself</h2> <!></div> <p class="svelte-3yespi">See the loop once: a question appears in the inbox, you answer it, the agent has your answer.</p> <p class="go svelte-3yespi"><button class="btn accent" type="button"><!> Raise a hand</button> <!></p> <!></div></li> <!></ol> <p class="last svelte-3yespi">How should the page reach you when you look elsewhere? See <a href="/settings">notifications and sound</a>. How things go over the days is in the <a href="/overview">overview</a>.</p></div>`);function H(s,u){g(u,!0);let w=(r,a=l)=>{var o=se();let s;var u=e(o),f=e=>{var t=n();d(e=>c(t,`received ${e??``} ago`),[()=>R(a())]),i(e,t)},m=e=>{var t=n(`listening …`);i(e,t)};t(u,e=>{a()?e(f):e(m,-1)}),p(o),d(()=>s=S(o,1,`heard svelte-3yespi`,null,s,{done:a()})),i(r,o)},A=ie(location.origin),j=new Set([...A.map(e=>e.app),`demo`]),M=b(new Map),N=b(void 0),P=b(``);_(()=>{for(let e of j)te({source_app:e,limit:1}).then(([t])=>t&&f(M,new Map([...a(M),[e,t]])),()=>void 0)});function*F(){O.eventCount;let{events:e}=O;for(let t=e.end-1;t>=e.start;t--){let n=e.at(t);n&&(yield n.event)}}let I=h(()=>new Map([...a(M),...ae(F(),j)])),R=e=>re(Math.max(0,(O.now-k(e))/1e3)),H=h(()=>a(I).get(`demo`)),U=h(()=>a(N)&&O.request(a(N).id));async function pe(){f(P,``);try{let e=await D(oe(`setup-${Date.now()}`));f(N,e),me(e.id)}catch(e){if(!(e instanceof E))throw e;f(P,e.message,!0)}}async function me(e){try{for(;!await ne(e,30););}catch(e){if(!(e instanceof E))throw e}}var W=fe(),G=e(W),K=v(e(G),2),he=v(e(K));he.textContent=location.origin,C(),p(K),p(G);var q=v(G,2),J=e(q),Y=e(J);L(Y,()=>a(H),()=>1);var X=v(Y,2),Z=e(X);w(v(e(Z),2),()=>a(H)),p(Z);var Q=v(Z,4),$=e(Q),ge=e($);T(ge,{size:16}),C(),p($);var _e=v($,2),ve=e=>{var t=ce(),n=x(t);d(()=>c(n,`You ${a(U).status.response?.permission?`approved`:`denied`} it. That was the whole loop.`)),i(e,t)},ye=e=>{var t=le();d(()=>m(t,`href`,`/inbox/${a(N).id??``}`)),i(e,t)};t(_e,e=>{a(U)?.status.status===`responded`?e(ve):a(N)&&e(ye,1)}),p(Q);var be=v(Q,2),xe=e=>{var t=ue(),n=x(t,!0);d(()=>c(n,a(P))),i(e,t)};t(be,e=>{a(P)&&e(xe)}),p(X),p(J);var Se=v(J,2);r(Se,19,()=>A,e=>e.id,(n,o,s)=>{let l=h(()=>a(I).get(a(o).app));var u=V(),f=e(u);L(f,()=>a(l),()=>a(s)+2);var g=v(f,2),_=e(g),y=e(_),b=x(y,!0),S=v(y,2);w(S,()=>a(l)),p(_);var C=v(_,2),T=x(C,!0),E=v(C,2);r(E,17,()=>a(o).commands,e=>e.label,(n,r)=>{var s=z(),l=e(s),u=e(l),f=e(u,!0),h=v(f),g=e=>{var t=de(),n=x(t);d(()=>c(n,` ${a(r).where??``}`)),i(e,t)};t(h,e=>{a(r).where&&e(g)}),p(u);var _=v(u,2);ee(_,{get text(){return a(r).text}}),p(l);var y=v(l,2),b=e(y),S=x(b,!0);p(y),p(s),d(()=>{c(f,a(r).label),m(y,`aria-label`,`${a(o).title??``}: ${a(r).label??``}`),c(S,a(r).text)}),i(n,s)});var D=v(E,2),O=v(e(D),2);r(O,20,()=>a(o).trouble,e=>e,(e,t)=>{var n=B(),r=x(n,!0);d(()=>c(r,t)),i(e,n)}),p(O),p(D),p(g),p(u),d(()=>{m(u,`data-testid`,`step-${a(o).id??``}`),m(u,`data-done`,a(l)?``:void 0),c(b,a(o).title),c(T,a(o).text)}),i(n,u)}),p(q),C(2),p(W),d(()=>m(J,`data-done`,a(H)?``:void 0)),o(`click`,$,pe),i(s,W),y()}u([`click`]);export{H as default};