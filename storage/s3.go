package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
)

// S3 keeps objects in a bucket of S3 or of a service that speaks its protocol.
type S3 struct {
	cfg      S3Config
	client   *s3.Client
	uploader *transfermanager.Client
	signer   *s3.PresignClient
	// multipart holds a token for each object that may be sent in parts at once.
	multipart chan struct{}
}

// The defaults of S3Config.
const (
	defaultRegion                  = "us-east-1"
	defaultAttemptsMax             = 5
	defaultDialTimeout             = 5 * time.Second
	defaultResponseHeaderTimeout   = 30 * time.Second
	defaultStallTimeout            = 60 * time.Second
	defaultMultipartThresholdBytes = 16 << 20
	defaultPartBytes               = 8 << 20
	defaultPartConcurrency         = 2
	defaultMultipartUploadsMax     = 4

	// retryBackoffMax bounds the pause between two tries of one request.
	retryBackoffMax = 5 * time.Second
	// partBytesMin is what the protocol demands of every part but the last.
	partBytesMin = 5 << 20
	// cleanUpTimeout bounds aborting or deleting what a failed put leaves, after the caller's context may have ended.
	cleanUpTimeout = 10 * time.Second
)

// NewS3 opens the s3 driver. It does not reach out to the service: Check does.
func NewS3(ctx context.Context, cfg S3Config) (*S3, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("storage: s3 configuration: %w", err)
	}
	creds, err := cfg.credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("storage: s3 credentials: %w", err)
	}
	client := s3.New(cfg.options(creds, cfg.Endpoint))
	return &S3{
		cfg:    cfg,
		client: client,
		uploader: transfermanager.New(client, func(o *transfermanager.Options) {
			o.PartSizeBytes = cfg.PartBytes
			// The threshold is decided here already; the uploader buffers as much as it is told to compare.
			o.MultipartUploadThreshold = cfg.PartBytes
			o.Concurrency = cfg.PartConcurrency
			o.FailTimeout = cleanUpTimeout
			o.RequestChecksumCalculation = cfg.requestChecksums()
		}),
		signer:    s3.NewPresignClient(s3.New(cfg.options(creds, cfg.PublicEndpoint), withoutResponseChecksum, forSigning)),
		multipart: make(chan struct{}, cfg.MultipartUploadsMax),
	}, nil
}

func (c *S3Config) setDefaults() {
	setDefault(&c.Region, defaultRegion)
	setDefault(&c.PublicEndpoint, c.Endpoint)
	setDefault(&c.Checksums, ChecksumsWhenSupported)
	setDefault(&c.AttemptsMax, defaultAttemptsMax)
	setDefault(&c.DialTimeout, defaultDialTimeout)
	setDefault(&c.ResponseHeaderTimeout, defaultResponseHeaderTimeout)
	setDefault(&c.StallTimeout, defaultStallTimeout)
	setDefault(&c.MultipartThresholdBytes, defaultMultipartThresholdBytes)
	setDefault(&c.PartBytes, defaultPartBytes)
	setDefault(&c.PartConcurrency, defaultPartConcurrency)
	setDefault(&c.MultipartUploadsMax, defaultMultipartUploadsMax)
	if c.Prefix != "" && !strings.HasSuffix(c.Prefix, "/") {
		c.Prefix += "/"
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c *S3Config) validate() error {
	if c.Bucket == "" {
		return errors.New("no bucket")
	}
	if c.Prefix != "" && ValidateKey(strings.TrimSuffix(c.Prefix, "/")) != nil {
		return fmt.Errorf("the prefix %q is no valid key", c.Prefix)
	}
	for _, endpoint := range []string{c.Endpoint, c.PublicEndpoint} {
		if u, err := url.Parse(endpoint); err != nil || endpoint != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("the endpoint %q is no http or https address", endpoint)
		}
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		return errors.New("access key and secret key go together")
	}
	if c.Checksums != ChecksumsWhenSupported && c.Checksums != ChecksumsWhenRequired {
		return fmt.Errorf("checksums %q: use %q or %q", c.Checksums, ChecksumsWhenSupported, ChecksumsWhenRequired)
	}
	if c.PartBytes < partBytesMin || c.MultipartThresholdBytes < c.PartBytes {
		return fmt.Errorf("a part must have at least %d bytes and the multipart threshold at least one part", partBytesMin)
	}
	if c.AttemptsMax < 1 || c.PartConcurrency < 1 || c.MultipartUploadsMax < 1 {
		return errors.New("a count is negative")
	}
	return nil
}

func (c *S3Config) credentials(ctx context.Context) (aws.CredentialsProvider, error) {
	if c.AccessKey != "" {
		return credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, ""), nil
	}
	chain, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(c.Region))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDenied, err)
	}
	return chain.Credentials, nil
}

func (c *S3Config) requestChecksums() aws.RequestChecksumCalculation {
	if c.Checksums == ChecksumsWhenRequired {
		return aws.RequestChecksumCalculationWhenRequired
	}
	return aws.RequestChecksumCalculationWhenSupported
}

func (c *S3Config) responseChecksums() aws.ResponseChecksumValidation {
	if c.Checksums == ChecksumsWhenRequired {
		return aws.ResponseChecksumValidationWhenRequired
	}
	return aws.ResponseChecksumValidationWhenSupported
}

// options sets everything by hand: s3.New applies none of the SDK's defaults for checksums.
func (c *S3Config) options(creds aws.CredentialsProvider, endpoint string) s3.Options {
	o := s3.Options{
		Region:                     c.Region,
		Credentials:                creds,
		UsePathStyle:               c.PathStyle,
		HTTPClient:                 c.httpClient(),
		RequestChecksumCalculation: c.requestChecksums(),
		ResponseChecksumValidation: c.responseChecksums(),
		Logger:                     logging.Nop{},
		APIOptions:                 []func(*middleware.Stack) error{leaveEncodingUnsigned},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = c.AttemptsMax
			o.MaxBackoff = retryBackoffMax
			// The caller's budget bounds the retries. A bucket of tokens shared by all requests would end them early in an outage.
			o.RateLimiter = ratelimit.None
		}),
		DisableLogOutputChecksumValidationSkipped: true,
	}
	if endpoint != "" {
		o.BaseEndpoint = &endpoint
	}
	return o
}

// withoutResponseChecksum keeps a checksum header out of what is signed: a browser would not send it. Answers to ranges carry no usable
// checksum either.
func withoutResponseChecksum(o *s3.Options) {
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
}

// leaveEncodingUnsigned keeps Accept-Encoding out of the signature, because proxies and some services rewrite it and then find the
// signature wrong.
func leaveEncodingUnsigned(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("LeaveEncodingUnsigned", dropAcceptEncoding), "Signing", middleware.Before)
}

// forSigning leaves the stack as it is: an address has no headers to sign.
func forSigning(o *s3.Options) { o.APIOptions = nil }
