package api

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// name is the field that a reference came in.
func (r *reference) name() string {
	if r.param == "" {
		return "input_reference"
	}
	return r.param
}

// decodePicture makes a clean picture of the reference, a few at a time over all requests. One that has to be fetched is here whole before it takes a place.
func (s *Server) decodePicture(ctx context.Context, r *reference) (Picture, error) {
	if r.url != "" {
		fetched, err := s.fetchPicture(ctx, r)
		if err != nil {
			return Picture{}, err
		}
		defer func() { _ = fetched.Close() }()
		r.open = func(context.Context) (io.ReadCloser, error) { return known{fetched.Reader()}, nil }
	}
	if err := s.decodes.Acquire(ctx, 1); err != nil {
		return Picture{}, err
	}
	defer s.decodes.Release(1)
	body, err := r.open(ctx)
	if err != nil {
		return Picture{}, err
	}
	defer func() { _ = body.Close() }()
	picture, err := s.deps.DecodeImage(ctx, body)
	return picture, r.blame(err)
}

// fetchPicture fetches the bytes of a reference, within the limits of an upload, and looks at the first of them before it takes the rest.
func (s *Server) fetchPicture(ctx context.Context, r *reference) (*spool, error) {
	if err := s.fetches.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.fetches.Release(1)
	body, err := s.deps.FetchImage(ctx, r.url, imageBytesMax)
	if err != nil {
		return nil, r.blame(err)
	}
	defer func() { _ = body.Close() }()
	head := make([]byte, pictureHeadBytes)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, r.blame(err)
	}
	if !isPicture(head[:n]) {
		return nil, r.blame(ErrImageType)
	}
	kept := newSpool(s.cfg.TempDir)
	if _, err = kept.Write(head[:n]); err == nil {
		err = s.receive(kept, body)
	}
	if err != nil {
		_ = kept.Close()
		return nil, r.blame(err)
	}
	return kept, nil
}

// pictureHeadBytes is what isPicture looks at.
const pictureHeadBytes = 12

// blame names the field that is at fault for a picture, where it is the picture that is.
func (r *reference) blame(err error) error {
	param := r.name()
	for _, c := range []struct {
		is            error
		code, message string
	}{
		{ErrImageType, codeInvalidImage, " is not a PNG, JPEG or WebP picture."},
		{ErrImageTooLarge, codeInvalidImage, " is too large."},
		{ErrImageCorrupt, codeInvalidImage, " cannot be decoded."},
		{ErrAddress, codeInvalidValue, " must be an address of at most 2048 characters, without user and password, on a port that this server calls."},
		{ErrUnreachable, codeInvalidValue, " cannot be fetched."},
	} {
		if errors.Is(err, c.is) {
			p := badRequest(param, c.code, param+c.message)
			p.cause = err
			return p
		}
	}
	if err != nil {
		return fmt.Errorf("api: picture: %w", err)
	}
	return nil
}
