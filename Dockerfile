# Build: a static-as-possible binary (purego needs glibc at run time).
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /telefuser ./cmd/telefuser

# Run: Debian with the media packages, no shell user, read-only root file system.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates ffmpeg libvpx7 libopus0 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home telefuser
COPY --from=build /telefuser /telefuser
USER 10001
EXPOSE 8000
ENTRYPOINT ["/telefuser"]
CMD ["serve"]
