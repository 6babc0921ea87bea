#!/usr/bin/env bash
# The topology of docker-compose.yml as plain processes on loopback: redis-server, an S3 server, two APIs, two workers.
#   deploy/local.sh [DIR]     data in DIR (default: data/local). Ctrl-C ends all of it.
# Ports: LOCAL_PORT (default 8000) and the next one for the APIs; LOCAL_PORT + 10 and + 11 for Redis and S3.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mkdir -p "${1:-data/local}" && cd "${1:-data/local}" && pwd)
port=${LOCAL_PORT:-8000}
redis_port=$((port + 10)); s3_port=$((port + 11))
tools=${TELEFUSER_TOOLS:-$PWD/.tools}
bin=$PWD/bin/telefuser
[ -x "$bin" ] || make build
[ -x "$tools/versitygw" ] || make tools

pids=()
stop() {
  trap - EXIT INT TERM
  for pid in "${pids[@]:2}"; do kill -TERM "$pid" 2>/dev/null || true; done      # APIs and workers first
  for pid in "${pids[@]:2}"; do wait "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]:0:2}"; do kill -TERM "$pid" 2>/dev/null || true; done
  wait
}
trap stop EXIT
trap 'exit 0' INT TERM

# Everything runs in the background of a shell without job control, so that Ctrl-C reaches this script alone.
start() { setsid "$@" >>"$dir/$name.log" 2>&1 & pids+=($!); echo "$! $name" >>"$dir/pids"; }

: >"$dir/pids"
mkdir -p "$dir/redis" "$dir/s3/telefuser"
name=redis start redis-server --dir "$dir/redis" --port "$redis_port" --bind 127.0.0.1 --save "" --appendonly yes --appendfsync always --maxmemory-policy noeviction
export ROOT_ACCESS_KEY=local ROOT_SECRET_KEY=local-secret-key
name=s3 start "$tools/versitygw" --quiet --port "127.0.0.1:$s3_port" posix "$dir/s3"
unset ROOT_ACCESS_KEY ROOT_SECRET_KEY TELEFUSER_TOOLS

export TELEFUSER_REDIS_URL=redis://127.0.0.1:$redis_port/0
export TELEFUSER_STORAGE_DRIVER=s3 TELEFUSER_STORAGE_S3_BUCKET=telefuser TELEFUSER_STORAGE_S3_ENDPOINT=http://127.0.0.1:$s3_port
export TELEFUSER_STORAGE_S3_ACCESS_KEY=local TELEFUSER_STORAGE_S3_SECRET_KEY=local-secret-key
export TELEFUSER_HTTP_AUTH=${LOCAL_AUTH:-off}
for i in 0 1; do
  TELEFUSER_DATA_DIR=$dir/api$i name=api$i start "$bin" serve --port $((port + i))
  TELEFUSER_DATA_DIR=$dir/worker$i name=worker$i start "$bin" worker terrain
done
for i in 0 1; do
  until "$bin" check --url "http://127.0.0.1:$((port + i))/v1/service/ready" >/dev/null 2>&1; do
    kill -0 "${pids[2]}" 2>/dev/null || { echo "api0 ended, see $dir/api0.log" >&2; exit 1; }
    sleep 0.2
  done
done
echo "ready http://127.0.0.1:$port http://127.0.0.1:$((port + 1))"
wait
