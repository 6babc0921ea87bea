package kernels

import (
	"errors"
	"fmt"

	"telefuser/workers/gpu"
)

// dnnPlan is one operation at one shape as the library does it.
type dnnPlan struct {
	builder   dnnBuilder // its descriptors
	plan      uintptr
	workspace gpu.Ptr
}

// planOf finds the plan of a key, made of the operations that describe adds by the library's proposal of that number, or remembers that there is
// none.
func (d *cuDNN) planOf(c *CUDA, key string, number int, describe func(b *dnnBuilder) []uintptr) (*dnnPlan, error) {
	key = fmt.Sprintf("%s #%d", key, number)
	p, known := d.plans[key]
	if known && p == nil {
		return nil, fmt.Errorf("%w: cuDNN has no plan for %s", ErrUnsupported, key)
	}
	if known {
		return p, nil
	}
	p = &dnnPlan{builder: dnnBuilder{d: d}}
	err := p.make(c, describe(&p.builder), number)
	if err != nil {
		p.builder.free()
		p = nil
	}
	d.plans[key] = p
	return p, err
}

// make finds the plan and takes its workspace.
func (p *dnnPlan) make(c *CUDA, ops []uintptr, number int) error {
	plan, workspace := p.builder.plan(ops, number)
	if p.builder.err != nil {
		return p.builder.err
	}
	p.plan = plan
	if workspace == 0 {
		return nil
	}
	var err error
	p.workspace, err = c.ctx.Alloc(workspace)
	return err
}

// execute queues a plan on tensors at addresses, which are the host's for values.
func (d *cuDNN) execute(c *CUDA, p *dnnPlan, uids []int64, at []gpu.Ptr) error {
	if err := c.ctx.Current(); err != nil {
		return err
	}
	b := dnnBuilder{d: d}
	defer b.free()
	pack := b.descriptor(dnnVariants, func(desc uintptr) {
		dnnSet(&b, desc, 1000, dnnTypeI64, uids...)
		dnnSet(&b, desc, 1001, dnnTypePointer, at...)
		dnnSet(&b, desc, 1003, dnnTypePointer, p.workspace)
	})
	if b.err != nil {
		return b.err
	}
	return d.check("cudnnBackendExecute", d.executePlan.Call(d.handle, p.plan, pack))
}

func (p *dnnPlan) close(c *CUDA) error {
	p.builder.free()
	if p.workspace == 0 {
		return nil
	}
	return errors.Join(c.stream.Synchronize(), c.ctx.Free(p.workspace))
}
