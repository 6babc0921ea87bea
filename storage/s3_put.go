package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	managertypes "github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Metadata that is kept with every object. The put id tells our own put, whose answer got lost, from somebody else's.
const (
	metaSHA256 = "sha256"
	metaPutID  = "put-id"
)

// conflictTries is how often a put begins anew when the service says that another one for the same key is under way.
const conflictTries = 3

// Put measures the source, sends it under the condition that the key is free, and then asks the service what it holds.
func (s *S3) Put(ctx context.Context, key string, r io.Reader, o PutOptions) (Object, error) {
	if err := ValidateKey(key); err != nil {
		return Object{}, err
	}
	p, err := newPayload(ctx, s.cfg.SpoolDir, r)
	if err != nil {
		return Object{}, fmt.Errorf("storage: put %s: %w", key, err)
	}
	defer p.Close()
	if err := p.verify(o); err != nil {
		return Object{}, fmt.Errorf("storage: put %s: %w", key, err)
	}
	obj, err := s.put(ctx, key, p, contentType(o.ContentType))
	if err != nil {
		return obj, fmt.Errorf("storage: put %s: %w", key, err)
	}
	return obj, nil
}

func (s *S3) put(ctx context.Context, key string, p *payload, contentType string) (Object, error) {
	meta := map[string]string{metaSHA256: p.sha256, metaPutID: rand.Text()}
	for try := 1; ; try++ {
		sent := s.send(ctx, key, p, contentType, meta)
		if sent != nil && !errors.Is(sent, ErrExists) {
			return Object{}, sent
		}
		head, err := s.head(ctx, key)
		switch {
		case err == nil && head.Metadata[metaPutID] == meta[metaPutID]:
			// Also when the key was said to be taken: a retry met our own first try.
			return s.accept(ctx, key, p, head)
		case err == nil && sent != nil:
			return headObject(key, head), sent
		case errors.Is(err, ErrNotFound) && sent != nil && try < conflictTries:
			// The other put did not come to its end, or its object is gone again.
			if _, err := p.body.Seek(0, io.SeekStart); err != nil {
				return Object{}, fmt.Errorf("read the source: %w", err)
			}
		case err == nil, errors.Is(err, ErrNotFound):
			return Object{}, fmt.Errorf("%w: the service took the object and does not hold it", ErrUnavailable)
		default:
			return Object{}, err
		}
	}
}

// send answers ErrExists when the condition failed.
func (s *S3) send(ctx context.Context, key string, p *payload, contentType string, meta map[string]string) error {
	if p.size >= s.cfg.MultipartThresholdBytes {
		return s.sendParts(ctx, key, p, contentType, meta)
	}
	in := &s3.PutObjectInput{
		Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key), Body: p.body, ContentLength: &p.size,
		ContentType: &contentType, Metadata: meta, IfNoneMatch: aws.String("*"),
	}
	if s.cfg.Checksums == ChecksumsWhenSupported {
		in.ChecksumCRC32 = &p.crc32
	}
	_, err := s.client.PutObject(ctx, in)
	return s3Error(ctx, err)
}

// sendParts looks first whether the key is free: the condition itself is only checked when all parts are sent.
func (s *S3) sendParts(ctx context.Context, key string, p *payload, contentType string, meta map[string]string) error {
	if _, err := s.head(ctx, key); err == nil {
		return ErrExists
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	select {
	case s.multipart <- struct{}{}:
		defer func() { <-s.multipart }()
	case <-ctx.Done():
		return contextError(ctx)
	}
	in := &transfermanager.UploadObjectInput{
		Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key), Body: p.body,
		ContentType: &contentType, Metadata: meta, IfNoneMatch: aws.String("*"),
	}
	if s.cfg.Checksums == ChecksumsWhenSupported {
		in.ChecksumType, in.ChecksumCRC32 = managertypes.ChecksumTypeFullObject, &p.crc32
	}
	_, err := s.uploader.UploadObject(ctx, in)
	return s3Error(ctx, err)
}

// accept compares what the service says it holds with what was measured, and takes a wrong object away again.
func (s *S3) accept(ctx context.Context, key string, p *payload, head *s3.HeadObjectOutput) (Object, error) {
	var wrong string
	switch {
	case aws.ToInt64(head.ContentLength) != p.size:
		wrong = fmt.Sprintf("it holds %d bytes, %d were sent", aws.ToInt64(head.ContentLength), p.size)
	case head.Metadata[metaSHA256] != p.sha256:
		wrong = "it kept another sha256"
	case wholeCRC32(head) != "" && wholeCRC32(head) != p.crc32:
		wrong = "its crc32 differs"
	default:
		return headObject(key, head), nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	return Object{}, errors.Join(fmt.Errorf("%w: %s", ErrCorrupt, wrong), s.delete(ctx, key))
}

// wholeCRC32 is the checksum of the whole object, "" where the service knows none or only one over its parts.
func wholeCRC32(head *s3.HeadObjectOutput) string {
	sum := aws.ToString(head.ChecksumCRC32)
	if head.ChecksumType == types.ChecksumTypeComposite || strings.Contains(sum, "-") {
		return ""
	}
	return sum
}

func (s *S3) head(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	in := &s3.HeadObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)}
	if s.cfg.Checksums == ChecksumsWhenSupported {
		in.ChecksumMode = types.ChecksumModeEnabled
	}
	out, err := s.client.HeadObject(ctx, in)
	return out, s3Error(ctx, err)
}

func headObject(key string, head *s3.HeadObjectOutput) Object {
	return Object{
		Key: key, SizeBytes: aws.ToInt64(head.ContentLength), SHA256: head.Metadata[metaSHA256],
		ContentType: aws.ToString(head.ContentType), ModifiedAt: aws.ToTime(head.LastModified), ETag: aws.ToString(head.ETag),
	}
}
