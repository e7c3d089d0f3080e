#!/usr/bin/env bash
# Unpacks an archive of a release and runs it: version, hub, one request, one answer.
#   scripts/release/smoke.sh ARCHIVE [VERSION]
set -euo pipefail

archive=$1 version=${2:-}
dir=$(mktemp -d)
hub=''
trap '[ -z "$hub" ] || kill "$hub" 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
case $archive in
  *.zip) unzip -q "$archive" -d "$dir/files" ;;
  *) mkdir "$dir/files" && tar -xzf "$archive" -C "$dir/files" ;;
esac
for file in LICENSE README.md THIRD-PARTY-NOTICES.txt completions/hookback.bash; do
  test -s "$dir/files/$file"
done
port=${HOOKBACK_SMOKE_PORT:-4871} # no other hub
unset "${!HOOKBACK_@}" # of the person
export PATH="$dir/files:$PATH" HOME="$dir/home" HOOKBACK_DB="$dir/hub.db" HOOKBACK_SOCKET=off HOOKBACK_ADDR=127.0.0.1:$port
export HOOKBACK_URL=http://$HOOKBACK_ADDR
mkdir "$HOME"
hookback version
hookback-server -version
if [ -n "$version" ]; then
  [ "$(hookback-server -version)" = "$version" ]
  [[ $(hookback version) == "hookback $version "* ]]
fi

hookback-server >"$dir/log" 2>&1 &
hub=$!
within() { # seconds, command…: repeats the command until it succeeds
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || { cat "$dir/log" >&2; return 1; }
    sleep 0.2
  done
}
within 60 hookback-server -health
# Without --known-hubs the account would trust this hub from now on.
hookback ask "Which color?" --text --known-hubs "$dir/known_hubs" >"$dir/answer" &
ask=$!
within 60 curl -fsS -H 'Content-Type: application/json' -d '{"response":"blue"}' "$HOOKBACK_URL/events/1/respond"
wait $ask
[ "$(tr -d '\r' <"$dir/answer")" = blue ]
echo "smoke: $archive works"
