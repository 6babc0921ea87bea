package storage

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// SweepBefore is Sweep with another idea of what is old: no service lets a test make an upload older than it is.
func (s *S3) SweepBefore(ctx context.Context, before time.Time) (int, error) {
	return s.sweep(ctx, before)
}

// BeginMultipart leaves an upload as a crashed process would.
func (s *S3) BeginMultipart(ctx context.Context, key string) error {
	_, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)})
	return err
}
