package config

import "time"

// Config is every setting of every command. Each leaf has a `key`, a sentence in `doc`, and `secret` where it must be masked.
type Config struct {
	DataDir string  `key:"data_dir" doc:"Directory of everything that is kept on this machine."`
	Log     Log     `key:"log"`
	HTTP    HTTP    `key:"http"`
	Redis   Redis   `key:"redis"`
	Storage Storage `key:"storage"`
	Jobs    Jobs    `key:"jobs"`
	Quotas  Quotas  `key:"quotas"`
	Worker  Worker  `key:"worker"`
	LiveKit LiveKit `key:"livekit"`
	Stream  Stream  `key:"stream"`
	Models  Models  `key:"models"`
	// Outbound and Webhooks are about calls to addresses that clients name.
	Outbound Outbound `key:"outbound"`
	Webhooks Webhooks `key:"webhooks"`
	Traces   Traces   `key:"traces"`
}

// Traces is where spans of OpenTelemetry go.
type Traces struct {
	Endpoint string `key:"endpoint" doc:"Address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318; empty makes no traces."`
	Percent  int    `key:"percent" doc:"Share of the traces that begin here which are kept; one that a client began keeps its decision."`
}

// Log says how much is written on stderr and in which form.
type Log struct {
	Level  string `key:"level" doc:"Least level that is logged: debug, info, warn or error."`
	Format string `key:"format" doc:"Form of a log line: json or text."`
}

// HTTP is the API's listener and its front-door rules.
type HTTP struct {
	Host             string        `key:"host" flag:"host" doc:"Address that the API listens on."`
	Port             int           `key:"port" flag:"port" doc:"Port that the API listens on; 0 takes a free one."`
	DebugAddr        string        `key:"debug_addr" flag:"debug-addr" doc:"Loopback address of the second listener with pprof and metrics; empty turns it off."`
	TLSCert          string        `key:"tls_cert" flag:"tls-cert" doc:"Certificate file (PEM); with tls_key, the API speaks HTTPS."`
	TLSKey           string        `key:"tls_key" flag:"tls-key" doc:"Private key file (PEM) of tls_cert."`
	Auth             string        `key:"auth" flag:"auth" doc:"Who may call: keys (API keys) or off (everybody is one tenant)."`
	MetricsPublic    bool          `key:"metrics_public" flag:"metrics-public" doc:"Serve /metrics without a key."`
	CORSOrigins      []string      `key:"cors_origins" flag:"cors-origins" doc:"Exact browser origins that may call the API; empty turns CORS off."`
	RedirectContent  bool          `key:"redirect_content" flag:"redirect-content" doc:"Answer content with a redirect to a presigned URL instead of streaming it (openai-go refuses such redirects)."`
	CreatesPerMinute int           `key:"creates_per_minute" flag:"creates-per-minute" doc:"Creates that one API key may make in a minute; 0 sets no limit."`
	ShutdownGrace    time.Duration `key:"shutdown_grace" flag:"shutdown-grace" doc:"How long the API serves on, not ready any more, before it closes."`
}

// Redis is the queue and the home of every record.
type Redis struct {
	URL            string `key:"url" flag:"redis-url" doc:"redis:// or rediss:// address of the primary." secret:"url"`
	PasswordFile   string `key:"password_file" flag:"redis-password-file" doc:"File that holds the password, in place of one in the URL."`
	SentinelMaster string `key:"sentinel_master" flag:"redis-sentinel-master" doc:"Name of the Sentinel master; the URL's hosts are then Sentinels."`
	Prefix         string `key:"prefix" flag:"redis-prefix" doc:"First part of every key of ours."`
}

// Storage is where artifacts are kept.
type Storage struct {
	Driver string `key:"driver" flag:"storage" doc:"Driver of the artifact store: file or s3."`
	Dir    string `key:"dir" flag:"storage-dir" doc:"Directory of the file driver; empty means artifacts in data_dir."`
	S3     S3     `key:"s3"`
}

// S3 is one bucket of an S3-compatible store.
type S3 struct {
	Endpoint       string `key:"endpoint" flag:"s3-endpoint" doc:"URL of the S3 server; empty means the region's own."`
	PublicEndpoint string `key:"public_endpoint" flag:"s3-public-endpoint" doc:"URL of the S3 server as clients reach it, for presigned URLs."`
	Region         string `key:"region" flag:"s3-region" doc:"Region of the bucket."`
	Bucket         string `key:"bucket" flag:"s3-bucket" doc:"Bucket that holds the artifacts."`
	Prefix         string `key:"prefix" flag:"s3-prefix" doc:"First part of every object's key."`
	AccessKey      string `key:"access_key" flag:"s3-access-key" doc:"Access key id; empty means the default credential chain."`
	SecretKey      string `key:"secret_key" flag:"s3-secret-key" doc:"Secret access key." secret:"all"`
	SecretKeyFile  string `key:"secret_key_file" flag:"s3-secret-key-file" doc:"File that holds the secret access key."`
	PathStyle      bool   `key:"path_style" flag:"s3-path-style" doc:"Put the bucket into the path, as most servers other than AWS want."`
	Checksums      string `key:"checksums" flag:"s3-checksums" doc:"When requests carry checksums: when_supported or when_required."`
}

// Jobs is the life of a job.
type Jobs struct {
	LeaseTTL     time.Duration `key:"lease_ttl" doc:"How long a claim is trusted without a sign of life."`
	Retention    time.Duration `key:"retention" flag:"retention" doc:"How long a finished video is kept; it is gone at its expires_at."`
	QueuedMax    int           `key:"queued_max" flag:"queued-max" doc:"Jobs that may wait for one pipeline; more are refused with 429."`
	QueueTimeout time.Duration `key:"queue_timeout" doc:"How long a job may wait before it fails with queue_timeout."`
	QueueAgeMax  time.Duration `key:"queue_age_max" doc:"How long a tenant's next job may have waited before more of its jobs are refused with 429; 0 sets no limit."`
	PriorityStep time.Duration `key:"priority_step" doc:"Waiting that one step of priority is worth: a job goes before those of its tenant with the next higher one that come this much later."`
}

// Quotas are what a key may do that has no limits of its own (telefuser keys set).
type Quotas struct {
	Queued                  int `key:"queued" doc:"Jobs of a tenant that may wait; 0 sets no limit, here and below."`
	Running                 int `key:"running" doc:"Jobs of a tenant that may run at a time; more wait."`
	MegapixelSecondsPerHour int `key:"megapixel_seconds_per_hour" doc:"Work that a key may ask for in an hour: width x height x seconds / 1000000, at least 1 a job."`
	StoredBytes             int `key:"stored_bytes" doc:"Bytes of a tenant's files and videos at which more are refused."`
}

// Worker is one worker process.
type Worker struct {
	NumReplicas  int           `key:"num_replicas" flag:"num-replicas" doc:"Engine processes, each running one job at a time."`
	GPUs         string        `key:"gpus" flag:"gpus" doc:"GPUs that are dealt out to the replicas in equal groups: numbers or UUIDs such as 0,1,2,3, or all. Empty means the CPU, or what gpu_map says."`
	GPUMap       string        `key:"gpu_map" flag:"gpu-map" doc:"Device groups of the replicas, such as 0,1;2,3. Empty means the CPU, or what gpus says."`
	ShareGPUs    bool          `key:"share_gpus" flag:"share-gpus" doc:"Let several engines have the same GPU, of this process and of others that are told so as well."`
	Grace        time.Duration `key:"grace" flag:"grace" doc:"How long running jobs may finish after SIGTERM before they are handed back."`
	IdleExit     time.Duration `key:"idle_exit" flag:"idle-exit" doc:"Exit after this long without a job; 0 stays."`
	MaxJobs      int           `key:"max_jobs" flag:"max-jobs" doc:"Exit after this many jobs; 0 sets no limit."`
	StallTimeout time.Duration `key:"stall_timeout" flag:"stall-timeout" doc:"Longest time without progress before an engine is killed."`
	LoadTimeout  time.Duration `key:"load_timeout" flag:"load-timeout" doc:"Longest time that a pipeline may take to load."`
	RunTimeout   time.Duration `key:"run_timeout" flag:"run-timeout" doc:"Longest time that one attempt may run after loading."`
	TempDir      string        `key:"temp_dir" flag:"temp-dir" doc:"Directory of unfinished files; empty means tmp in data_dir."`
	FFmpeg       string        `key:"ffmpeg" flag:"ffmpeg" doc:"The ffmpeg program that encodes artifacts."`
}

// LiveKit is the media server of live sessions.
type LiveKit struct {
	URL           string        `key:"url" flag:"livekit-url" doc:"ws:// or wss:// address of the LiveKit server; empty turns live sessions off."`
	PublicURL     string        `key:"public_url" flag:"livekit-public-url" doc:"Address of the LiveKit server as clients reach it; empty means url."`
	APIKey        string        `key:"api_key" flag:"livekit-api-key" doc:"API key of the LiveKit server."`
	APISecret     string        `key:"api_secret" flag:"livekit-api-secret" doc:"API secret of the LiveKit server." secret:"all"`
	APISecretFile string        `key:"api_secret_file" flag:"livekit-api-secret-file" doc:"File that holds the API secret."`
	TokenTTL      time.Duration `key:"token_ttl" flag:"token-ttl" doc:"How long a token lets its holder into a room; a bare number is in seconds." bare:"s"`
}

// Stream is live sessions and the workers of one process that run them.
type Stream struct {
	NumWorkers           int           `key:"num_workers" flag:"num-workers" doc:"Model workers of this process, one engine process each."`
	WorkerGPUMap         string        `key:"worker_gpu_map" flag:"worker-gpu-map" doc:"Device groups of the workers, such as 0,1;2,3. Empty means the CPU."`
	MaxSessionsPerWorker string        `key:"max_sessions_per_worker" flag:"max-sessions-per-worker" doc:"Sessions that share one worker: a number, or auto for as many as the pipeline can hold."`
	QueueSize            int           `key:"queue_size" flag:"queue-size" doc:"Sessions that may wait for a worker; 0 refuses them with 429."`
	ControlIdleTimeout   time.Duration `key:"control_idle_timeout" flag:"control-idle-timeout" doc:"How long after its last control a session still counts as active when others want its worker; a bare number is in seconds." bare:"s"`
	SessionTimeout       time.Duration `key:"session_timeout" flag:"session-timeout" doc:"Longest duration of a session; a bare number is in seconds." bare:"s"`
	ControllerTimeout    time.Duration `key:"controller_timeout" flag:"controller-timeout" doc:"How long a session waits for its controller; a bare number is in seconds." bare:"s"`
	RoomEmptyTimeout     time.Duration `key:"room_empty_timeout" flag:"room-empty-timeout" doc:"How long a session goes on when everybody has left; a bare number is in seconds." bare:"s"`
	SessionsPerTenantMax int           `key:"sessions_per_tenant_max" doc:"Sessions that one tenant may have at a time."`
}

// Models says which pipeline answers to which model name.
type Models struct {
	Default string   `key:"default" flag:"default-model" doc:"Pipeline that the OpenAI model names and an absent model mean."`
	Aliases []string `key:"aliases" flag:"model-alias" doc:"Further names as alias=pipeline."`
	Dir     string   `key:"dir" flag:"models-dir" doc:"Folder that holds a folder of weights for each pipeline that needs some, such as tiny-world."`
	Weights string   `key:"weights" flag:"weights" doc:"Folder of weights for the pipeline that this process runs, in place of the one in models.dir; or random:SEED for true shapes from a seed, whose pictures mean nothing and are marked everywhere."`
}

// Default is the configuration that nothing was said about.
func Default() Config {
	return Config{
		DataDir: "data",
		Log:     Log{Level: "info", Format: "json"},
		HTTP:    HTTP{Host: "127.0.0.1", Port: 8000, Auth: "keys", ShutdownGrace: 5 * time.Second},
		Redis:   Redis{URL: "redis://127.0.0.1:6379/0", Prefix: "tf"},
		Storage: Storage{Driver: "file", S3: S3{Region: "us-east-1", PathStyle: true, Checksums: "when_supported"}},
		Jobs:    Jobs{LeaseTTL: 10 * time.Second, Retention: 7 * 24 * time.Hour, QueuedMax: 100_000, QueueTimeout: 24 * time.Hour, PriorityStep: 10 * time.Minute},
		Worker: Worker{NumReplicas: 1, Grace: 30 * time.Second, StallTimeout: 60 * time.Second, LoadTimeout: 10 * time.Minute,
			RunTimeout: time.Hour, FFmpeg: "ffmpeg"},
		LiveKit: LiveKit{TokenTTL: 10 * time.Minute},
		Stream: Stream{NumWorkers: 1, MaxSessionsPerWorker: "1", ControlIdleTimeout: 10 * time.Second, SessionTimeout: 30 * time.Minute,
			ControllerTimeout: time.Minute, RoomEmptyTimeout: 30 * time.Second, SessionsPerTenantMax: 100},
		Models:   Models{Default: "terrain"},
		Webhooks: Webhooks{PerTenantMax: 20},
		Traces:   Traces{Percent: 100},
	}
}
