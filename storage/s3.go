package storage

import "context"

// NewS3 opens the s3 driver.
func NewS3(ctx context.Context, cfg S3Config) (Store, error) { panic("in work") }
