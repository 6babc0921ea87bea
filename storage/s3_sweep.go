package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// checkKey is the object that Check writes. It is no valid key, so no caller can meet it.
const checkKey = ".check"

// Check overwrites an empty object, once and without retries: readiness wants to know how things stand now.
func (s *S3) Check(ctx context.Context) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + checkKey), Body: strings.NewReader(""), ContentLength: aws.Int64(0),
	}, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return fmt.Errorf("storage: check: %w", s3Error(ctx, err))
	}
	return nil
}

// Sweep aborts multipart uploads that began more than LeftoverAge ago under our prefix.
func (s *S3) Sweep(ctx context.Context) (int, error) {
	removed, err := s.sweep(ctx, time.Now().Add(-LeftoverAge))
	if err != nil {
		return removed, fmt.Errorf("storage: sweep: %w", err)
	}
	return removed, nil
}

func (s *S3) sweep(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	in := &s3.ListMultipartUploadsInput{Bucket: &s.cfg.Bucket, Prefix: &s.cfg.Prefix}
	for {
		page, err := s.client.ListMultipartUploads(ctx, in)
		if err != nil {
			return removed, s3Error(ctx, err)
		}
		for _, u := range page.Uploads {
			if !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.cfg.Bucket, Key: u.Key, UploadId: u.UploadId})
			if err = s3Error(ctx, err); err != nil && !errors.Is(err, ErrNotFound) {
				return removed, err
			}
			removed++
		}
		if !aws.ToBool(page.IsTruncated) {
			return removed, nil
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
	}
}
