import type { Pod } from '../../../shared/api/types.ts'

/** Name of the container that is added to a pod to see what becomes of the processes of the others. */
export const WITNESS = 'rehearsal-witness'
const MARK = 'KUBESTAGE_REHEARSAL'
/** The exit code of the check if a process was left. */
const FOUND = 3

/**
 * Waits, once asked to end, for the first processes of the other containers to end, and prints who of their descendants
 * is still there. All of them have the mark in their environment.
 */
const script = String.raw`
my $mark = "${MARK}=$ENV{${MARK}}";
my $own = readlink '/proc/self';   # two dollar signs would be one: the kubelet expands arguments
my $asked = 0;
$SIG{TERM} = sub { $asked = 1 };
sub slurp { open my $file, '<', $_[0] or return ''; local $/; my $text = <$file>; defined $text ? $text : '' }
sub marked {
  my %found;
  for my $folder (glob '/proc/[0-9]*') {
    my ($pid) = $folder =~ /(\d+)$/;
    next if $pid == $own || index("\0" . slurp("$folder/environ"), "\0$mark\0") < 0;
    my ($name, $state, $parent) = slurp("$folder/stat") =~ /^\d+ \((.*)\) (\S) (\d+)/s or next;
    $found{$pid} = { name => $name, parent => $parent } if $state ne 'Z';
  }
  return \%found;
}
my $all = marked();
until ($asked) {
  select(undef, undef, undef, 0.2);
  my $now = marked();
  $all = $now unless $asked;   # a process that gets TERM at the same moment may be gone already
}
my @first = grep { !$all->{$all->{$_}{parent}} } keys %$all;
for (;;) {
  my $now = marked();
  last unless grep { $now->{$_} } @first;
  select(undef, undef, undef, 0.01);
}
my $left = marked();
select(undef, undef, undef, 0.5);
my $still = marked();
my @names = map { $left->{$_}{name} } grep { $still->{$_} } sort { $a <=> $b } keys %$left;
print "$_\n" for @names;
exit(@names ? ${FOUND} : 0);
`

/**
 * Containers that share their processes: a process that outlives its parent lives on, and can be seen. It runs as the
 * first one's user.
 */
export function addWitness({ metadata, spec }: Pod): void {
  const [first] = spec.containers
  const mark = { name: MARK, value: metadata.name ?? '' }
  for (const container of spec.containers) container.env = [...(container.env ?? []), mark]
  spec.shareProcessNamespace = true
  spec.containers.push({
    name: WITNESS,
    image: 'busybox',
    command: ['perl', '-e', script],
    env: [mark],
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(first?.securityContext && { securityContext: first.securityContext }),
  })
}

/** Names of the processes that it saw. */
export function witnessed({ status }: Pod): string[] {
  const ended = status?.containerStatuses?.find(({ name }) => name === WITNESS)?.state?.terminated
  if (ended?.exitCode !== FOUND) return []
  return (ended.message ?? '').split('\n').filter(Boolean)
}
