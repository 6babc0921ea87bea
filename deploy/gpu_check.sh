#!/usr/bin/env bash
# Checks telefuser on a machine with an NVIDIA GPU that has nothing else of ours: no Go, no Redis, no Python.
#
#   go build -o DIR/telefuser ./cmd/telefuser && go test -c -o DIR/terrain.test ./workers/models/terrain
#   deploy/gpu_check.sh DIR [OUT]
#
# DIR holds the two programs and, where the machine has none, an ffmpeg with libx264; without one the checks of the whole service are left
# out. With a livekit-server (and libvpx on the machine) a live session is played as well. OUT takes the logs. Parts: the inventory, frames of
# the GPU against the processor's byte for byte, frames a second, one job on the GPU and the same on the processor, whose videos must be equal,
# the live session, every frame of it decoded, and the planted faults. The exit code is the number of failed checks.
set -u
dir=$(cd "$1" && pwd)
out=${2:-$(mktemp -d)}
mkdir -p "$out"
PATH=$dir:$PATH
work=$(mktemp -d)
failed=0
began=$SECONDS
server=
trap 'stop; rm -rf "$work"' EXIT

say() { echo "[$((SECONDS - began)) s] $*"; }
pass() { say "ok: $*"; }
fail() { say "FAILED: $*"; failed=$((failed + 1)); }

# start NAME FLAGS... runs the whole service in one process, with an embedded Redis, and waits until it is ready.
start() {
	log=$out/$1.log
	shift
	: >"$work/url"
	telefuser dev --data-dir "$work/data$RANDOM" --port 0 --log-format json --log-level info "$@" >"$work/url" 2>"$log" &
	server=$!
	for _ in $(seq 600); do
		url=$(sed -n 's/^ready //p' "$work/url")
		[ -n "$url" ] && return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	fail "the service did not start: $(tail -n 2 "$log")"
	return 1
}

stop() {
	[ -n "$server" ] || return 0
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
}

field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }

# create SIZE SECONDS PROMPT answers the id of a new job.
create() {
	curl -s -m 10 "$url/v1/videos" -H 'Content-Type: application/json' \
		-d "{\"model\":\"terrain\",\"prompt\":\"$3\",\"seconds\":\"$2\",\"size\":\"$1\",\"seed\":7}" | tr ',' '\n' | field id
}

# await ID SECONDS waits for the end of a job and answers its state.
await() {
	local state=none
	for _ in $(seq $(($2 * 10))); do
		state=$(curl -s -m 10 "$url/v1/videos/$1" | tr ',' '\n' | field status)
		case $state in completed | failed) break ;; esac
		sleep 0.1
	done
	echo "$state"
}

inventory() {
	say "--- what this machine has"
	telefuser gpus --probe | tee "$out/gpus.txt"
	telefuser gpus --probe --json >"$out/gpus.json" || fail "telefuser gpus"
	grep -q '"probe": "ok"' "$out/gpus.json" && pass "the small kernel runs" || fail "no GPU runs the small kernel"
}

frames() {
	say "--- frames: the GPU against the processor, byte for byte"
	if terrain.test -test.v -test.run 'CUDA' >"$out/frames.log" 2>&1 && ! grep -q -- '--- SKIP' "$out/frames.log"; then
		pass "$(grep -c 'frames are equal' "$out/frames.log") worlds and sizes are equal"
	else
		fail "frames: $(grep -E 'differ|FAIL|SKIP|gpu:' "$out/frames.log" | head -n 5)"
	fi
	say "--- frames a second, to the host's memory"
	terrain.test -test.run XXX -test.bench CUDA -test.benchtime 100x >"$out/fps.log" 2>&1 || fail "benchmark: $(tail -n 3 "$out/fps.log")"
	grep Benchmark "$out/fps.log"
}

# video SIZE SECONDS makes one video and answers the SHA-256 of its file.
video() {
	local id
	id=$(create "$1" "$2" "alpine lake in the evening light")
	[ "$(await "$id" 120)" = completed ] || { echo "no-video-$id"; return; }
	curl -s -m 60 "$url/v1/videos/$id/content" | sha256sum | cut -d' ' -f1
}

service() {
	say "--- jobs through the whole service"
	start gpu --gpu-map 0 || return
	local a b t
	t=$(date +%s%N)
	a=$(video 832x480 4)
	say "832x480, 4 s, on the GPU: $((($(date +%s%N) - t) / 1000000)) ms"
	t=$(date +%s%N)
	b=$(video 1920x1088 2)
	say "1920x1088, 2 s, on the GPU: $((($(date +%s%N) - t) / 1000000)) ms"
	grep -q '"device":"NVIDIA' "$log" && pass "the engine names its device: $(field device <"$log")" || fail "no device in the engine's facts"
	stop
	start cpu || return
	[ "$a" = "$(video 832x480 4)" ] && [ "${#a}" = 64 ] && pass "the GPU's video is the processor's ($a)" || fail "832x480: the videos differ"
	[ "$b" = "$(video 1920x1088 2)" ] && [ "${#b}" = 64 ] && pass "the same at 1920x1088" || fail "1920x1088: the videos differ"
	stop
}

# session plays one live session for 20 s, decodes all that came, and looks at who made it.
session() {
	say "--- a live session through the whole service"
	TELEFUSER_TOOLS=$dir start session --worker-gpu-map 0 || return
	for _ in $(seq 300); do
		grep -q '^live ' "$work/url" && break
		sleep 0.1
	done
	if telefuser bench replay --url "$url" --frames 317 >"$out/session.txt" 2>&1; then
		pass "$(grep -m 1 '^frames: ' "$out/session.txt")"
	else
		fail "the session: $(tail -n 2 "$out/session.txt")"
	fi
	grep -q '"device":"NVIDIA' "$log" && pass "made by $(grep '"device":"NVIDIA' "$log" | field device)" || fail "no device in the engine's facts"
	stop
}

# fault NAME CLASS strikes one job in the middle and looks at what follows for it, for the engine and for the next job.
fault() {
	local id t state
	t=$(date +%s%N)
	touch "$work/faults/$1"
	id=$(create 832x480 4 "a coast")
	state=$(await "$id" 60)
	t=$((($(date +%s%N) - t) / 1000000))
	if [ "$state" = completed ] && grep -q "\"engine ended\".*\"class\":\"$2\"" "$log" && grep -q "\"attempt begins\".*\"job_id\":\"$id\",\"attempt\":2" "$log"; then
		pass "$1: the engine ended as $2, the job was made anew and completed after $t ms"
	else
		fail "$1: $state after $t ms, wanted an engine that ends as $2 and a second attempt"
	fi
	state=$(await "$(create 832x480 1 "a coast")" 60)
	[ "$state" = completed ] && pass "$1: the next job completes" || fail "$1: the next job ends as $state"
}

faults() {
	say "--- planted faults"
	mkdir -p "$work/faults"
	start faults --gpu-map 0 --fault-dir "$work/faults" --stall-timeout 3s || return
	fault assert device_lost
	fault bounds device_lost
	fault memory out_of_memory
	fault hang stalled
	stop
}

inventory
frames
if command -v ffmpeg >/dev/null && ! ffmpeg -hide_banner -h muxer=mp4 2>/dev/null | grep -q movie_timescale; then
	fail "ffmpeg is too old: it does not know movie_timescale; jobs and faults are left out"
elif command -v ffmpeg >/dev/null; then
	service
	if command -v livekit-server >/dev/null; then session; else say "no livekit-server: the live session is left out"; fi
	faults
else
	say "no ffmpeg: jobs and faults are left out"
fi
say "$failed checks failed; logs in $out"
exit "$failed"
