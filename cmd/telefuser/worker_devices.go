package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"telefuser/internal/config"
	"telefuser/workers/gpu"
)

// allGPUs is what stands for every GPU that this process sees.
const allGPUs = "all"

// deviceGroups is one group of device ids for each replica, or nil for the CPU.
func deviceGroups(c config.Worker) ([][]string, error) {
	switch {
	case c.GPUs != "" && c.GPUMap != "":
		return nil, badGPUs("gpus", "gpu_map deals them out as well")
	case c.GPUMap != "":
		return mapGPUs(c)
	case c.GPUs == "":
		return nil, nil
	}
	ids := strings.Split(c.GPUs, ",")
	if c.GPUs == allGPUs {
		var err error
		if ids, err = seenGPUs(); err != nil {
			return nil, err
		}
	}
	return dealGPUs(ids, c)
}

// seenGPUs are the numbers of the GPUs that this process sees.
func seenGPUs() ([]string, error) {
	driver, err := gpu.Open()
	if err != nil {
		return nil, err
	}
	count, err := driver.Count()
	if err != nil {
		return nil, err
	}
	ids := make([]string, count)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids, nil
}

// mapGPUs parses "0,1;2,3".
func mapGPUs(c config.Worker) ([][]string, error) {
	var groups [][]string
	owner := map[string]int{}
	for group := range strings.SplitSeq(c.GPUMap, ";") {
		ids := strings.Split(group, ",")
		for _, id := range ids {
			before, taken := owner[id]
			switch {
			case id == "":
				return nil, badGPUs("gpu_map", "a device is missing in %q", c.GPUMap)
			case taken && before == len(groups):
				return nil, badGPUs("gpu_map", "device %s stands twice in a group", id)
			case taken && !c.ShareGPUs:
				return nil, badGPUs("gpu_map", "device %s stands in two groups, which only share_gpus allows", id)
			}
			owner[id] = len(groups)
		}
		groups = append(groups, ids)
	}
	if len(groups) != c.NumReplicas {
		return nil, badGPUs("gpu_map", "%d groups for %d replicas", len(groups), c.NumReplicas)
	}
	return groups, nil
}

// dealGPUs gives each replica an equal group of neighbours, or, where they are shared, as many replicas to each GPU.
func dealGPUs(ids []string, c config.Worker) ([][]string, error) {
	if slices.Contains(ids, "") || len(slices.Compact(slices.Sorted(slices.Values(ids)))) < len(ids) {
		return nil, badGPUs("gpus", "a device is missing or stands twice in %q", c.GPUs)
	}
	each := len(ids) / c.NumReplicas
	switch {
	case each*c.NumReplicas == len(ids):
		return slices.Collect(slices.Chunk(ids, each)), nil
	case c.NumReplicas%len(ids) != 0:
		return nil, badGPUs("gpus", "%d do not deal out evenly to %d replicas", len(ids), c.NumReplicas)
	case !c.ShareGPUs:
		return nil, badGPUs("gpus", "%d for %d replicas, which only share_gpus allows", len(ids), c.NumReplicas)
	}
	groups := make([][]string, c.NumReplicas)
	for i := range groups {
		groups[i] = []string{ids[i%len(ids)]}
	}
	return groups, nil
}

// badGPUs is a mistake in the settings of a worker's GPUs.
func badGPUs(key, format string, args ...any) error {
	return fmt.Errorf("%w: worker.%s: %s", config.ErrInvalid, key, fmt.Sprintf(format, args...))
}
