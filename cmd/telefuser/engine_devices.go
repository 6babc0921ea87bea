package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/pipeline"
)

// engineDevices are the GPUs of one engine process.
type engineDevices struct {
	ordinals []int
	facts    []engine.DeviceFacts
	words    string
	uuids    []string
	// claims keep other processes of this machine away from the GPUs for as long as this one lives, but those that share them as well.
	claims  []*gpu.Claim
	sharing gpu.Sharing
	// usedBefore is what all processes held of each GPU before this one came; nil where unknown.
	usedBefore []*uint64
}

// claimsDir is where processes of this machine claim its GPUs.
func claimsDir() string { return filepath.Join(os.TempDir(), "telefuser-gpus") }

// openEngineDevices finds and claims the GPUs of a list; an empty one means the processor. Its errors are the pipeline's: ErrInvalid where
// the list can never work here, ErrDeviceLost where the driver has trouble.
func openEngineDevices(ctx context.Context, list string, sharing gpu.Sharing) (engineDevices, error) {
	d := engineDevices{sharing: sharing}
	if list == "" {
		return d, nil
	}
	all, err := gpu.Inventory(ctx)
	switch {
	case errors.Is(err, gpu.ErrNoDriver):
		return d, fmt.Errorf("%w: %w", pipeline.ErrInvalid, err)
	case err != nil:
		return d, fmt.Errorf("%w: %w", pipeline.ErrDeviceLost, err)
	}
	for id := range strings.SplitSeq(list, ",") {
		info, err := findDevice(all, id)
		if err != nil {
			return d, err
		}
		claim, err := gpu.ClaimDevice(claimsDir(), info.UUID, sharing)
		if err != nil {
			return d, fmt.Errorf("device %s: %w", id, err)
		}
		d.claims = append(d.claims, claim)
		d.add(info)
	}
	return d, nil
}

// findDevice finds a GPU by its number or its UUID.
func findDevice(all []gpu.DeviceInfo, id string) (gpu.DeviceInfo, error) {
	number, err := strconv.Atoi(id)
	i := slices.IndexFunc(all, func(info gpu.DeviceInfo) bool { return info.UUID == id || err == nil && info.Ordinal == number })
	if i < 0 {
		return gpu.DeviceInfo{}, fmt.Errorf("%w: no GPU %q among the %d of this machine", pipeline.ErrInvalid, id, len(all))
	}
	return all[i], nil
}

// add notes a GPU and what is known of it.
func (d *engineDevices) add(info gpu.DeviceInfo) {
	d.ordinals = append(d.ordinals, info.Ordinal)
	d.uuids = append(d.uuids, info.UUID)
	var used *uint64
	if info.Telemetry != nil {
		used = info.Telemetry.MemoryUsedBytes
	}
	d.usedBefore = append(d.usedBefore, used)
	d.facts = append(d.facts, engine.DeviceFacts{
		Name: &info.Name, UUID: &info.UUID, DriverVersion: info.DriverVersion, CUDAVersion: &info.CUDAVersion, MemoryBytes: &info.MemoryBytes,
	})
	words := fmt.Sprintf("%s, driver %s, CUDA %s", info.Name, orUnknown(info.DriverVersion), info.CUDAVersion)
	if d.words != "" {
		words = d.words + "; " + words
	}
	d.words = words
}

// watch answers when NVML reports that one of the GPUs cannot be used any more. Where NVML knows nothing, neither does watch.
func (d *engineDevices) watch(ctx context.Context) error {
	if len(d.uuids) == 0 {
		return nil
	}
	monitor, err := gpu.OpenMonitor()
	if err != nil {
		return nil // no telemetry is no fault of the device
	}
	defer monitor.Close()
	group, ctx := errgroup.WithContext(ctx)
	for _, uuid := range d.uuids {
		group.Go(func() error {
			for {
				xid, err := monitor.NextXid(ctx, uuid)
				if err != nil {
					return nil //nolint:nilerr // as above, or ctx has ended
				}
				if gpu.XidFatal(xid) {
					return &gpu.XidError{UUID: uuid, Xid: xid}
				}
			}
		})
	}
	return group.Wait()
}

// orUnknown is a fact in words.
func orUnknown(s *string) string {
	if s == nil {
		return "unknown"
	}
	return *s
}
