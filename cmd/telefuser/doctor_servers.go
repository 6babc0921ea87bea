package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/streaming/livekit"
)

const (
	// skewNote is a difference of clocks that is worth knowing, skewMax one with which tokens and signatures fail.
	skewNote = 5 * time.Second
	skewMax  = time.Minute
	// memoryNoteRatio is the share of maxmemory from which creates are refused.
	memoryNoteRatio = 0.8
)

const mendClock = "keep the clocks of all machines in step (NTP)"

func checkRedis(ctx context.Context, p *patient) {
	client, err := jobs.Connect(ctx, redisConfig(p.cfg.Redis))
	if client != nil {
		defer client.Close()
	}
	if errors.Is(err, jobs.ErrInvalid) {
		p.fail("redis", "correct redis.url", "the address cannot be read")
		return
	}
	if err != nil {
		p.fail("redis", mendRedis(err), "%v", err)
		return
	}
	f, err := jobs.ReadServerFacts(ctx, client)
	if err != nil {
		p.fail("redis", mendRedis(err), "%v", err)
		return
	}
	p.ok("redis", "%s answers in %s", orElse(f.Version, "a server of unknown version"), f.RoundTrip.Round(10*time.Microsecond))
	p.skew("redis.clock", f.Skew)
	if !f.Told {
		p.note("redis.policy", "look by hand: maxmemory-policy noeviction, appendonly yes", "Redis does not show its settings to this user")
		return
	}
	if f.Role != "master" {
		p.fail("redis.role", "name the primary in redis.url, or use redis.sentinel_master", "this is a %s, which takes no writes", f.Role)
	}
	checkRedisMemory(p, f)
	switch {
	case f.AppendFailed:
		p.fail("redis.aof", "free the disk of Redis and look into its log", "the last write to the append-only file failed")
	case !f.AppendOnly:
		p.fail("redis.aof", "set appendonly to yes", "no append-only file: accepted jobs are lost when Redis restarts")
	default:
		p.ok("redis.aof", "the append-only file is on")
	}
}

func checkRedisMemory(p *patient, f jobs.ServerFacts) {
	switch {
	case f.Policy != "noeviction":
		p.fail("redis.policy", "set maxmemory-policy to noeviction", "%s: Redis drops job records once its memory is full", orElse(f.Policy, "no policy"))
	default:
		p.ok("redis.policy", "noeviction")
	}
	switch {
	case f.MaxBytes == 0:
		p.note("redis.memory", "set maxmemory, so that creates are refused before the machine runs out", "no limit, %s used", gibibytes(&f.UsedBytes))
	case float64(f.UsedBytes) >= memoryNoteRatio*float64(f.MaxBytes):
		p.fail("redis.memory", "raise maxmemory or shorten jobs.retention", "%s of %s used: creates are refused from 80 %% on", gibibytes(&f.UsedBytes), gibibytes(&f.MaxBytes))
	default:
		p.ok("redis.memory", "%s of %s used", gibibytes(&f.UsedBytes), gibibytes(&f.MaxBytes))
	}
}

// mendRedis reads what Redis said of a refusal.
func mendRedis(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"):
		return "correct the user and password of redis.url or redis.password_file"
	case strings.Contains(text, "NOPERM"):
		return "give this Redis user the commands of the service"
	case strings.Contains(text, "LOADING"):
		return "wait until Redis has read its files"
	}
	return "start Redis, or correct redis.url"
}

// skew judges how far another clock is ahead of ours.
func (p *patient) skew(check string, ahead time.Duration) {
	switch {
	case ahead.Abs() > skewMax:
		p.fail(check, mendClock, "its clock is %s ahead of ours", ahead)
	case ahead.Abs() > skewNote:
		p.note(check, mendClock, "its clock is %s ahead of ours", ahead)
	default:
		p.ok(check, "its clock is %s ahead of ours", ahead)
	}
}

func checkStorage(ctx context.Context, p *patient) {
	sc := storageConfig(p.cfg)
	sc.S3.AttemptsMax, sc.S3.ResponseHeaderTimeout = 1, doctorTimeout/4
	where := "correct storage.dir and the rights of this folder: " + sc.File.Dir
	if sc.Driver == storage.DriverS3 {
		where = "correct the settings storage.s3.*"
	}
	store, err := storage.New(ctx, sc)
	if err != nil {
		p.fail("storage", where, "%v", err)
		return
	}
	for _, step := range storage.Probe(ctx, store) {
		check := "storage." + step.Name
		switch {
		case step.Err != nil:
			p.fail(check, mendStorage(step, where), "%v", step.Err)
		case step.Leftovers > 0:
			p.note(check, "those that stay are aborted an hour after their start while a service runs", "works; %d unfinished uploads", step.Leftovers)
		default:
			p.ok(check, "works")
		}
	}
}

// mendStorage reads what the store said of a refusal.
func mendStorage(step storage.ProbeStep, where string) string {
	switch text := step.Err.Error(); {
	case strings.Contains(text, "RequestTimeTooSkewed"):
		return mendClock
	case strings.Contains(text, "NoSuchBucket"):
		return "make the bucket, or correct storage.s3.bucket"
	case strings.Contains(text, "InvalidAccessKeyId"), strings.Contains(text, "SignatureDoesNotMatch"), strings.Contains(text, "XAdminUserNotFound"):
		return "correct storage.s3.access_key and storage.s3.secret_key"
	case errors.Is(step.Err, storage.ErrDenied):
		return "give this key the right to " + map[string]string{
			"put": "s3:PutObject and s3:GetObject", "get": "s3:GetObject", "range": "s3:GetObject", "list": "s3:ListBucket", "delete": "s3:DeleteObject",
			"multipart": "s3:ListBucketMultipartUploads and s3:AbortMultipartUpload",
		}[step.Name]
	case errors.Is(step.Err, storage.ErrFull):
		return "make room in the store"
	}
	return where
}

func checkLiveKit(ctx context.Context, p *patient) {
	c := p.cfg.LiveKit
	if c.URL == "" {
		p.say("livekit", verdictSkip, "", "livekit.url is not set: no live sessions")
		return
	}
	server, err := livekit.New(livekit.Config{URL: c.URL, PublicURL: c.PublicURL, APIKey: c.APIKey, APISecret: c.APISecret})
	if err != nil {
		p.fail("livekit", "correct the settings livekit.*", "%v", err)
		return
	}
	ahead, err := server.Skew(ctx)
	if err != nil {
		p.fail("livekit", "start the media server, or correct livekit.url", "%v", err)
		return
	}
	p.skew("livekit.clock", ahead)
	switch err := server.Check(ctx); {
	case errors.Is(err, livekit.ErrAutoCreate):
		p.ok("livekit", "answers and accepts the key")
		p.fail("livekit.rooms", "set room.auto_create to false in its configuration", "it makes rooms for whoever joins: an old token opens an ended session's room again")
	case errors.Is(err, livekit.ErrDenied):
		p.fail("livekit", "correct livekit.api_key and livekit.api_secret", "%v", err)
	case err != nil:
		p.fail("livekit", "start the media server, or correct livekit.url", "%v", err)
	default:
		p.ok("livekit", "answers and accepts the key")
		p.ok("livekit.rooms", "nobody but the service makes rooms")
	}
}

func orElse(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}
