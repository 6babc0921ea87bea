package workers

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/engine"
	"telefuser/workers/media"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err    error
		action action
		cause  jobs.Cause
		code   string
	}{
		{jobs.ErrCancelled, drop, "", ""},
		{jobs.ErrLeaseLost, drop, "", ""},
		{jobs.ErrStale, drop, "", ""},
		{jobs.ErrDraining, requeue, jobs.CauseDraining, ""},
		{jobs.ErrDeadline, fail, "", jobs.CodeDeadline},
		{&engine.Error{Class: engine.ClassClosed}, requeue, jobs.CauseDraining, ""},
		{&engine.Error{Class: engine.ClassOutOfMemory}, requeue, jobs.CauseOOM, ""},
		{&engine.Error{Class: engine.ClassDeviceLost}, requeue, jobs.CauseDevice, ""},
		{&engine.Error{Class: engine.ClassStalled}, requeue, jobs.CauseStalled, ""},
		{&engine.Error{Class: engine.ClassCrashed}, requeue, jobs.CauseCrash, ""},
		{&engine.Error{Class: engine.ClassBusy}, requeue, jobs.CauseTransient, ""},
		{&engine.Error{Class: engine.ClassInvalid}, fail, "", jobs.CodeInvalid},
		{&engine.Error{Class: engine.ClassInternal}, fail, "", jobs.CodeInternal},
		{storage.ErrFull, fail, "", jobs.CodeStorage},
		{media.ErrNoSpace, fail, "", jobs.CodeStorage},
		{syscall.ENOSPC, fail, "", jobs.CodeStorage},
		{storage.ErrNotFound, fail, "", jobs.CodeSourceMissing},
		{media.ErrImageCorrupt, fail, "", jobs.CodeInvalid},
		{errShort, fail, "", jobs.CodeInternal},
		{errSpec, fail, "", jobs.CodeInvalid},
		{storage.ErrUnavailable, requeue, jobs.CauseTransient, ""},
		{storage.ErrDenied, requeue, jobs.CauseTransient, ""},
		{media.ErrEncoder, requeue, jobs.CauseTransient, ""},
		{context.Canceled, requeue, jobs.CauseTransient, ""},
		{errors.New("nobody knows"), requeue, jobs.CauseTransient, ""},
	} {
		d := classify(fmt.Errorf("wrapped: %w", c.err))
		if d.action != c.action || d.cause != c.cause || d.failure.Code != c.code || d.label == "" {
			t.Errorf("%v: %+v", c.err, d)
		}
		if (d.action == fail) != (d.failure.Message != "") {
			t.Errorf("%v: message %q", c.err, d.failure.Message)
		}
	}
}

func TestManifestKeys(t *testing.T) {
	id, attempt, ok := parseManifestKey(objectKey("video_1", 12, manifestName))
	if id != "video_1" || attempt != 12 || !ok {
		t.Errorf("%s, %d, %t", id, attempt, ok)
	}
	for _, key := range []string{"videos/v/1/video.mp4", "videos/v/0/manifest.json", "videos/v/manifest.json", "inputs/v/1/manifest.json",
		"videos//1/manifest.json", "videos/v/-1/manifest.json", "videos/v/1/2/manifest.json"} {
		if _, _, ok := parseManifestKey(key); ok {
			t.Errorf("%s passes for a manifest", key)
		}
	}
}
