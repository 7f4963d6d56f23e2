import { systemCall } from '../../kubelet/runtime/process/shim/system-calls.ts'
import { lowLimits } from '../../shared/limits/low-limits.ts'
import type { ChildSpec } from './child.ts'

type Command = Pick<ChildSpec, 'command' | 'args'>

/** Becomes its arguments, which the kernel sends SIGHUP (1) when the parent ends. */
const asksTheKernel = `
my ($prctl, $parent, @program) = @ARGV;
syscall($prctl, 1, 1, 0, 0, 0);
exit 1 if getppid() != $parent;
exec { $program[0] } @program or die "cannot run $program[0]: $!\\n"`

/**
 * Returns how to start a Node that ends with this process even if none of its JavaScript runs. Refused a thread, Node
 * waits for ever before it runs any, and does not read that its stdin has closed. The kernel's signal ends it there;
 * a program that runs has a handler and decides by its stdin. Perl's start takes 2 ms: only a low limit is worth them.
 */
export function endsWithParent([command, ...args]: readonly [string, ...string[]]): Command {
  const prctl = systemCall('prctl')
  if (lowLimits() === '' || prctl === undefined) return { command, args }
  return { command: 'perl', args: ['-e', asksTheKernel, `${prctl}`, `${process.pid}`, command, ...args] }
}
