package storage

import (
	"context"
	"fmt"
	"time"
)

// The names of the drivers.
const (
	DriverFile = "file"
	DriverS3   = "s3"
)

// Config chooses a driver; only the chosen driver's part is read.
type Config struct {
	// Driver is DriverFile or DriverS3.
	Driver string
	File   FileConfig
	S3     S3Config
}

// FileConfig shapes the file driver.
type FileConfig struct {
	// Dir is the root directory; it is made when it is missing. Nothing outside of it is ever touched.
	Dir string
}

// S3Config shapes the s3 driver. Zero values mean the defaults that are stated.
type S3Config struct {
	// Endpoint is the address of the service, such as http://127.0.0.1:7070; "" means that of AWS in Region.
	Endpoint string
	// PublicEndpoint is the address that signed URLs name; "" means Endpoint.
	PublicEndpoint string
	// Region is signed into every request; "" means us-east-1.
	Region string
	// Bucket must exist. Prefix is put before every key and may be ""; it ends in a slash or gets one.
	Bucket string
	Prefix string
	// AccessKey and SecretKey sign the requests. When both are "", the SDK's own chain (instance role, web identity) is asked.
	AccessKey string
	SecretKey string
	// PathStyle puts the bucket into the path instead of the host name, as most services other than AWS want.
	PathStyle bool
	// Checksums is ChecksumsWhenSupported (the default) or ChecksumsWhenRequired, for services that refuse x-amz-checksum headers.
	Checksums string
	// SpoolDir holds uploads of unknown digest while they are measured; "" means the system's directory for temporary files.
	SpoolDir string
	// AttemptsMax is how often one request is tried in all; 0 means 5.
	AttemptsMax int
	// DialTimeout bounds connecting (0: 5 s), ResponseHeaderTimeout the wait for an answer after a request is sent (0: 30 s), and
	// StallTimeout the time in which not a single byte moves in either direction (0: 60 s).
	DialTimeout           time.Duration
	ResponseHeaderTimeout time.Duration
	StallTimeout          time.Duration
	// MultipartThresholdBytes is the length from which an object is sent in parts of PartBytes (0: 16 MiB and 8 MiB; a part is at least
	// 5 MiB). PartConcurrency parts of one object (0: 2) and MultipartUploadsMax objects (0: 4) are sent at once: together they bound
	// the memory, PartBytes x (2 x PartConcurrency + 2) x MultipartUploadsMax at worst.
	MultipartThresholdBytes int64
	PartBytes               int64
	PartConcurrency         int
	MultipartUploadsMax     int
}

// The two ways of S3Config.Checksums.
const (
	ChecksumsWhenSupported = "when_supported"
	ChecksumsWhenRequired  = "when_required"
)

// New opens the store that cfg names. It does not reach out to the network: Check does.
func New(ctx context.Context, cfg Config) (Store, error) {
	switch cfg.Driver {
	case DriverFile:
		return orNil(NewFile(cfg.File)) //nolint:contextcheck // it opens folders and nothing else
	case DriverS3:
		return orNil(NewS3(ctx, cfg.S3))
	default:
		return nil, fmt.Errorf("storage: unknown driver %q: use %q or %q", cfg.Driver, DriverFile, DriverS3)
	}
}

// orNil keeps a nil driver from becoming a Store that is not nil.
func orNil[T Store](s T, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
