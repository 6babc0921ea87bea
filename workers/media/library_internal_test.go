package media

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestUnknownReleasesOfVPXAreRefused(t *testing.T) {
	for version, want := range map[int][]int{
		1<<16 | 10<<8: nil, 1<<16 | 11<<8: {25}, 1<<16 | 12<<8: {25}, 1<<16 | 13<<8 | 1: {30}, 1<<16 | 14<<8: {34}, 1<<16 | 15<<8: {36, 37},
		1<<16 | 16<<8: {39}, 1<<16 | 17<<8: {39}, 1<<16 | 18<<8: nil, 2<<16 | 12<<8: nil, 0: nil,
	} {
		got := abisOf(version)
		same := len(got) == len(want)
		for i := 0; same && i < len(want); i++ {
			same = got[i].number == want[i]
		}
		if !same {
			t.Errorf("%#x: %v, want %v", version, got, want)
		}
	}
}

func TestOtherLibrariesAreNotTakenForVPX(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("libraries have these names on Linux only")
	}
	if _, err := openVPX("libno-such-library.so.1"); !errors.Is(err, errNotInstalled) {
		t.Errorf("no library: %v", err)
	}
	if _, err := openVPX("libc.so.6"); err == nil || !strings.Contains(err.Error(), "has no vpx_codec") {
		t.Errorf("another library: %v", err)
	}
}

func TestOtherLibrariesAreNotTakenForOpus(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("libraries have these names on Linux only")
	}
	if _, err := openOpus("libno-such-library.so.1"); !errors.Is(err, errNotInstalled) {
		t.Errorf("no library: %v", err)
	}
	if _, err := openOpus("libc.so.6"); err == nil || !strings.Contains(err.Error(), "has no opus_") {
		t.Errorf("another library: %v", err)
	}
}
