package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"telefuser/internal/config"
	"telefuser/workers/gpu"
)

func TestGroupsOfGPUs(t *testing.T) {
	for _, test := range []struct {
		gpus, gpuMap string
		replicas     int
		share        bool
		want         string // groups as text, or a word of the refusal
		refused      bool
	}{
		{"", "", 2, false, "[]", false},
		{"", "0,1;2,3", 2, false, "[[0 1] [2 3]]", false},
		{"", "0;0", 2, true, "[[0] [0]]", false},
		{"", "0;0", 2, false, "two groups", true},
		{"", "0,0", 1, true, "twice", true},
		{"", "0;", 2, false, "missing", true},
		{"", "0;1", 3, false, "2 groups for 3 replicas", true},
		{"0,1,2,3", "", 2, false, "[[0 1] [2 3]]", false},
		{"0,1,2,3", "", 4, false, "[[0] [1] [2] [3]]", false},
		{"GPU-a,GPU-b", "", 1, false, "[[GPU-a GPU-b]]", false},
		{"0,1", "", 4, true, "[[0] [1] [0] [1]]", false},
		{"0,1", "", 4, false, "share_gpus", true},
		{"0,1", "", 3, true, "evenly", true},
		{"0,1,2", "", 2, true, "evenly", true},
		{"0,0", "", 1, true, "twice", true},
		{"0,", "", 1, false, "missing", true},
		{"0", "0", 1, false, "gpu_map", true},
	} {
		c := config.Worker{GPUs: test.gpus, GPUMap: test.gpuMap, NumReplicas: test.replicas, ShareGPUs: test.share}
		got, err := deviceGroups(c)
		switch {
		case test.refused && (!errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: %v, want a refusal with %q", c, err, test.want)
		case !test.refused && (err != nil || fmt.Sprint(got) != test.want):
			t.Errorf("%+v: %v, %v, want %s", c, got, err, test.want)
		}
	}
}

func TestAllGPUsOfAMachineWithout(t *testing.T) {
	withoutDriver(t)
	if _, err := deviceGroups(config.Worker{GPUs: "all", NumReplicas: 1}); !errors.Is(err, gpu.ErrNoDriver) {
		t.Errorf("%v", err)
	}
}
