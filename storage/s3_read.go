package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Open streams from the service; a whole object is checked against its checksum on the way where there is one.
func (s *S3) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Object, error) {
	if err := ValidateKey(key); err != nil {
		return nil, Object{}, err
	}
	body, obj, err := s.open(ctx, key, offset, length)
	if err != nil {
		return nil, obj, fmt.Errorf("storage: open %s: %w", key, err)
	}
	return body, obj, nil
}

func (s *S3) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, Object, error) {
	if offset < 0 || length < -1 || length == 0 {
		return nil, Object{}, fmt.Errorf("%w: offset %d, length %d", ErrRange, offset, length)
	}
	in := &s3.GetObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)}
	var opts []func(*s3.Options)
	if offset > 0 || length > 0 {
		in.Range = aws.String(rangeHeader(offset, length))
		opts = append(opts, withoutResponseChecksum)
	}
	out, err := s.client.GetObject(ctx, in, opts...)
	if err = s3Error(ctx, err); errors.Is(err, ErrRange) {
		return s.openNothing(ctx, key, offset)
	}
	if err != nil {
		return nil, Object{}, err
	}
	size, err := wholeSize(out)
	if err != nil {
		return nil, Object{}, errors.Join(err, out.Body.Close())
	}
	obj := Object{
		Key: key, SizeBytes: size, SHA256: out.Metadata[metaSHA256], ContentType: aws.ToString(out.ContentType),
		ModifiedAt: aws.ToTime(out.LastModified), ETag: aws.ToString(out.ETag),
	}
	if in.Range != nil && out.ContentRange == nil && offset >= size {
		// A service that answers a range of an empty object with the whole of it.
		return nil, obj, errors.Join(checkEmptyRange(offset, size), out.Body.Close())
	}
	return &s3Body{ctx: ctx, body: out.Body}, obj, nil
}

// openNothing answers a refused range: it is fine at the beginning of an empty object.
func (s *S3) openNothing(ctx context.Context, key string, offset int64) (io.ReadCloser, Object, error) {
	head, err := s.head(ctx, key)
	if err != nil {
		return nil, Object{}, err
	}
	obj := headObject(key, head)
	if err := checkEmptyRange(offset, obj.SizeBytes); err != nil {
		return nil, obj, err
	}
	return io.NopCloser(strings.NewReader("")), obj, nil
}

func checkEmptyRange(offset, size int64) error {
	if offset == 0 && size == 0 {
		return nil
	}
	return fmt.Errorf("%w: offset %d of %d bytes", ErrRange, offset, size)
}

func rangeHeader(offset, length int64) string {
	if length == -1 {
		return fmt.Sprintf("bytes=%d-", offset)
	}
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

// wholeSize is the length of the object of which a part may have been answered.
func wholeSize(out *s3.GetObjectOutput) (int64, error) {
	if out.ContentRange == nil {
		return aws.ToInt64(out.ContentLength), nil
	}
	_, total, _ := strings.Cut(*out.ContentRange, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: content range %q", ErrUnavailable, *out.ContentRange)
	}
	return size, nil
}

// s3Body translates the errors of the stream.
type s3Body struct {
	ctx  context.Context //nolint:containedctx // a reader has no other way to know its request's end
	body io.ReadCloser
}

// Read wraps whatever breaks the stream into ErrUnavailable or the end of the context.
func (b *s3Body) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("storage: read: %w", s3Error(b.ctx, err))
	}
	return n, err
}

// Close ends the stream.
func (b *s3Body) Close() error { return s3Error(context.WithoutCancel(b.ctx), b.body.Close()) }

// Stat asks the service for the object's head.
func (s *S3) Stat(ctx context.Context, key string) (Object, error) {
	if err := ValidateKey(key); err != nil {
		return Object{}, err
	}
	head, err := s.head(ctx, key)
	if err != nil {
		return Object{}, fmt.Errorf("storage: stat %s: %w", key, err)
	}
	return headObject(key, head), nil
}

// Delete removes the object.
func (s *S3) Delete(ctx context.Context, key string) error {
	if err := ValidateKey(key); err != nil {
		return err
	}
	if err := s.delete(ctx, key); err != nil {
		return fmt.Errorf("storage: delete %s: %w", key, err)
	}
	return nil
}

func (s *S3) delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)})
	if err = s3Error(ctx, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List asks page by page. Digest and type stay unknown; what is no key of ours is left out.
func (s *S3) List(ctx context.Context, prefix, after string, limit int) ([]Object, error) {
	if err := validateList(prefix, after, limit); err != nil {
		return nil, err
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.cfg.Bucket, Prefix: aws.String(s.cfg.Prefix + prefix), MaxKeys: aws.Int32(int32(limit))}
	if after != "" {
		in.StartAfter = aws.String(s.cfg.Prefix + after)
	}
	var found []Object
	for {
		page, err := s.client.ListObjectsV2(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("storage: list %s: %w", prefix, s3Error(ctx, err))
		}
		found = s.appendOwn(found, page.Contents)
		if len(found) >= limit {
			return found[:limit], nil
		}
		if !aws.ToBool(page.IsTruncated) {
			return found, nil
		}
		in.ContinuationToken = page.NextContinuationToken
	}
}

func (s *S3) appendOwn(found []Object, page []types.Object) []Object {
	for _, o := range page {
		key := strings.TrimPrefix(aws.ToString(o.Key), s.cfg.Prefix)
		if ValidateKey(key) != nil {
			continue
		}
		found = append(found, Object{
			Key: key, SizeBytes: aws.ToInt64(o.Size), ModifiedAt: aws.ToTime(o.LastModified), ETag: aws.ToString(o.ETag),
		})
	}
	return found
}

// signTTLMax is the protocol's own bound.
const signTTLMax = 7 * 24 * time.Hour

// Sign makes a GET address at the public endpoint.
func (s *S3) Sign(ctx context.Context, key string, o SignOptions) (string, error) {
	if err := ValidateKey(key); err != nil {
		return "", err
	}
	if o.TTL < time.Second || o.TTL > signTTLMax {
		return "", fmt.Errorf("storage: sign %s: a TTL of %s is not in 1s..%s", key, o.TTL, signTTLMax)
	}
	in := &s3.GetObjectInput{Bucket: &s.cfg.Bucket, Key: aws.String(s.cfg.Prefix + key)}
	if o.Filename != "" {
		in.ResponseContentDisposition = aws.String(disposition(o.Filename))
	}
	if o.ContentType != "" {
		in.ResponseContentType = &o.ContentType
	}
	req, err := s.signer.PresignGetObject(ctx, in, s3.WithPresignExpires(o.TTL))
	if err != nil {
		return "", fmt.Errorf("storage: sign %s: %w", key, s3Error(ctx, err))
	}
	return req.URL, nil
}

// disposition makes a browser save the object; a name that cannot be written in the header is left out.
func disposition(filename string) string {
	if d := mime.FormatMediaType("attachment", map[string]string{"filename": filename}); d != "" {
		return d
	}
	return "attachment"
}
