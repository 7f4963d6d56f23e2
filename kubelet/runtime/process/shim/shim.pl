# Starts processes for the kubelet, and outlives it: whatever happens to a kubelet, its containers go on, their output is kept as far
# as a pipe holds it, and their exits are remembered until a kubelet wants to forget them.
# usage: perl shim.pl ROOT supervised|alone|SECONDS [NAME NUMBER]...
#
# stdin      when supervised, a pipe whose other end only the supervisor holds; when it closes, everything ends here
# SECONDS    supervised as well: when the pipe closes, the kubelet has so long to end its pods; if it is gone, everything ends at once
# NAME …     system calls by number; without them no namespaces can be had, and exits are noticed a little later
# ROOT/requests   lines from the kubelet, words between tabs (%09 a tab, %0A a new line, %25 a percent sign, %2E a word
#                 that is a dot), the last word is a dot:
#   hello WHO PID                  a new kubelet: commands of the one before are ended, and all that is known is told again
#   run ID CONTAINER INPUT OUTPUTS FLAGS PID POD NETWORK STEP…   CONTAINER: ID itself, or where a command belongs; INPUT 1: with a pipe to read;
#                                  OUTPUTS 1 or 2, or 0: it is on a terminal, which ends with it; FLAGS of new namespaces; PID of a process,
#                                  to join its PID namespace, or 0; POD:
#                                  the IPC namespace of this name is joined, and made for its first process; or a dash; NETWORK: the
#                                  network namespace of this name is joined; or a dash; the steps are container.pl's
#   network NAME [FOLDER]          a network namespace of this name is made, unless there is one; nodes of an ordinary user that have the
#                                  same folder share a user namespace, so that their networks can be linked
#   input ID                       it gets no more to read
#   size ID COLUMNS ROWS           its terminal has this size from now on
#   forget ID                      nothing of it is wanted any more: it is killed, should it run; also of the namespaces of this name
#   end                            ends everything
# ROOT/cgroups    written by the kubelet: folders of control groups, one a line, that are removed at the end
# ROOT/events     lines to the kubelet, of the same form without the dot:
#   greeting WHO                   what follows is for the kubelet that said hello
#   started ID AGO PID OUTPUT ERRORS INPUT   it runs, since so many milliseconds; names of its pipes, to be opened, or a dash
#   failed ID AGO WHY              it could not be started, or the request was damaged or too long
#   exited ID AGO CODE             as a shell counts: 128 and the signal; a container's when all that it left is gone as well
#   network NAME FILE WHY          the file is a network namespace, or a dash where none could be made, for this reason
#   known WHO                      all is told
#
# Two processes: the guard, which is the one that was started, and the shim, its child. What the shim leaves when it is killed becomes
# the guard's, which ends it. In the same way each container's process gets what its own processes leave, as process 1 of a PID namespace
# does; and the shim, when that has ended: docs/decisions/004-processes-that-are-left.md.
use strict;
(my $here = $0) =~ s{[^/]*$}{};
our (%number, $CONTROLS, $is_placed);
require "${here}container.pl";
(my ($root, $mode), %number) = @ARGV;

umask 077;
mkdir $root;
chdir $root or die "$root: $!\n";
$ENV{PATH} ||= '/usr/sbin:/usr/bin:/sbin:/bin';
$SIG{PIPE} = 'IGNORE';
my $grace = $mode =~ /^\d+$/ ? $mode : 0;

my $NEW_PROCESSES = 0x20000000;
my $NEW_USERS = 0x10000000;
my $SAME_PARENT = 0x8000;
my $INTO_CGROUP = 0x200000000;
my %NEW = (ipc => 0x08000000, net => 0x40000000);
my $SIGCHLD = 17;
my $HANG_NOT = 1;
my $LONGEST = 8 << 20; # a line: what a program may be given (2 MiB), with every byte escaped
my $NEW_NAMESPACES = 0x7e020000;
my $WORDS = 9; # of `run`, its steps as one
my $AT_ONCE = 4096; # what a pipe takes whole or not at all
my $CHILDREN = '/proc/thread-self/children';

sub text_of {
  open(my $file, '<', $_[0]) or return '';
  local $/;
  return <$file> // '';
}

# Gives us what descendants leave, if we can tell which children we have: the /proc of another PID namespace has other numbers.
my $adopts = $number{prctl} && -r $CHILDREN && readlink('/proc/self') == $$;
sub adopt { syscall($number{prctl}, 36, 1, 0, 0, 0) if $adopts }
sub children { $adopts ? split(' ', text_of($CHILDREN)) : () }

# The container whose mark a process carries in its environment, wherever it went.
sub mark_of {
  my $environment = "\0" . text_of("/proc/$_[0]/environ");
  my ($id) = $environment =~ /\0KUBESTAGE_CONTAINER=\Q$root\E:([^\0]*)/;
  return $id;
}

# Kills our children, and those that become ours by that, until there is none; and all that is marked.
sub end_all {
  # Again and again, since what was just being started may have been missed.
  for (1 .. 250) {
    kill 'KILL', map { (-$_, $_) } children(), @_;
    defined mark_of($_) && kill 'KILL', $_ for map { m{(\d+)} } glob '/proc/[0-9]*';
    my $pid;
    1 while ($pid = waitpid(-1, $HANG_NOT)) > 0;
    last if $pid < 0;
    select(undef, undef, undef, 0.02);
  }
}

# Volumes in memory, which kubelets mounted below the folder that holds ours.
sub unmount_volumes {
  my $place = readlink('/proc/self/cwd') // return;
  $place =~ s{[^/]*$}{pods/};
  open(my $mounts, '<', '/proc/self/mountinfo') or return;
  for (<$mounts>) {
    my $target = (split ' ')[4];
    $target =~ s/\\(\d{3})/chr oct $1/ge;
    unmount($target) if index($target, $place) == 0 && / - tmpfs kubestage /;
  }
}

# The control groups of the node, whose roots the kubelet has listed; those of version 2 end their processes at once.
sub cgroups { grep { m{^/.+/kubestage-[0-9a-f]+\z} } split(/\n/, text_of('cgroups')) }
sub remove_cgroup {
  my ($folder) = @_;
  if (opendir(my $entries, $folder)) { remove_cgroup($_) for grep { -d } map { "$folder/$_" } grep { !/^\.\.?\z/ } readdir $entries }
  rmdir $folder;
}

sub leave_nothing {
  for (cgroups()) { -e "$_/cgroup.kill" and write_file("$_/cgroup.kill", '1') }
  end_all(@_);
  unmount_volumes();
  remove_cgroup($_) for cgroups();
}

sub wait_for {
  my ($seconds, @handles) = @_;
  my $bits = '';
  vec($bits, fileno $_, 1) = 1 for @handles;
  select($bits, undef, undef, $seconds) > 0 or return ();
  return grep { vec($bits, fileno $_, 1) } @handles;
}

# Waits for another process that holds the lock (EAGAIN), ten seconds at most.
sub hold {
  my ($lock) = @_;
  for (1 .. 500) {
    last if flock($lock, 6) || ($! != 11 && $! != 35);
    select(undef, undef, undef, 0.02);
  }
}

# The shim before this one may still be ending what it left; that takes five seconds at most.
open(my $lock, '>', 'lock') or die "$root/lock: $!\n";
hold($lock);

# Each sees the other's end. Sockets of AF_UNIX, as a stream.
socketpair(my $guards, my $shims, 1, 1, 0) or die "socketpair: $!\n";
adopt();
my $shim = fork;
die "fork: $!\n" unless defined $shim;
guard() if $shim;
close $guards;
my $main = $$;
adopt();
# Were it stopped when the guard is killed, it goes on, to end all: 18 is SIGCONT.
syscall($number{prctl}, 1, 18, 0, 0, 0) if $number{prctl};

# Does what is left to do when the shim is killed, or does not end although its supervisor has.
sub guard {
  close $shims;
  $SIG{TERM} = sub { kill 'TERM', $shim };
  my @ends = ($guards, $mode eq 'alone' ? () : (\*STDIN));
  # A signal ends the wait as well.
  1 until my @ended = wait_for(undef, @ends);
  unless (grep { $_ == $guards } @ended) {
    my $until = time + $grace + 8;
    1 until wait_for(1, $guards) || time > $until;
    kill 'KILL', $shim;
  }
  waitpid($shim, 0);
  my $how = $?;
  $SIG{TERM} = 'DEFAULT';
  leave_nothing() if $how || waitpid(-1, $HANG_NOT) >= 0;
  kill $how & 127, $$ if $how & 127;
  exit($how >> 8);
}

# What an earlier one left that was killed together with its guard.
leave_nothing();

unlink 'requests', 'events', 'shim.pid', 'lost', 'boot', glob 'pipes/*';
my $has_proc = %number && -d '/proc/self/fd';
# By a call of the kernel: POSIX would double the memory of which each process begins as a copy. S_IFIFO is 010000.
sub fifo {
  my ($file) = @_;
  return ask('mknodat', -100, $file, 010600, 0) if $number{mknodat};
  require POSIX;
  return POSIX::mkfifo($file, 0600);
}
# In this order: a kubelet that can open the requests finds the events ready.
fifo('events') && open(my $events, '+<', 'events') or die "$root/events: $!\n";
fifo('requests') && open(my $requests, '+<', 'requests') or die "$root/requests: $!\n";

# Exits come as signals, which are read like everything else.
my $signals;
my $chld = pack('Q', 1 << $SIGCHLD - 1);
if ($number{signalfd4}) {
  syscall($number{rt_sigprocmask}, 0, $chld, 0, 8);
  my $fd = syscall($number{signalfd4}, -1, $chld, 8, 0x80800);
  open($signals, '<&=', $fd) or die "signalfd: $!\n" if $fd >= 0;
}
open(my $own_processes, '<', '/proc/self/ns/pid');
# By kind, and by the name of a pod: namespaces, which live as long as they are open here, without a process in them; and our own.
my %kept = (ipc => {}, net => {});
my %own;
open($own{$_}, '<', "/proc/self/ns/$_") for keys %kept;
my $own_users;

my (%job, %job_of_pid, %preparing);
# By pid: children that we have not started, and the containers from one of which they are.
my %orphan;
# By id: what has ended, and is told when its orphans are gone.
my %ending;
my $kubelet;
my $untold = '';

# Milliseconds of a clock that is never set.
sub now {
  my $time = "\0" x 16;
  return time * 1000 unless $number{clock_gettime} && syscall($number{clock_gettime}, 1, $time) == 0;
  my ($seconds, $nanoseconds) = unpack('qq', $time);
  return $seconds * 1000 + int($nanoseconds / 1e6);
}
sub ago { now() - $_[0] }

sub tell_kubelet {
  my @words = map { s/([%\t\n])/sprintf('%%%02X', ord $1)/ger } @_;
  $untold .= join("\t", @words) . "\n";
}

sub write_events {
  my $bits = '';
  vec($bits, fileno $events, 1) = 1;
  while (length $untold && select(undef, my $ready = $bits, undef, 0) > 0) {
    my $written = syswrite($events, $untold, $AT_ONCE) or last;
    substr($untold, 0, $written, '');
  }
}

sub tell_of {
  my ($job) = @_;
  my ($id, $failed, $started, $exited) = @$job{qw(id failed started exited)};
  if ($failed) { tell_kubelet('failed', $id, ago($failed->[0]), $failed->[1]) }
  elsif ($started) {
    tell_kubelet('started', $id, ago($started), $job->{pid}, map { $job->{$_} ? name_of($job, $_) : '-' } qw(output errors input));
    tell_kubelet('exited', $id, ago($exited->[0]), $exited->[1]) if $exited;
  }
}

# How another process opens our end of a pipe.
sub name_of {
  my ($job, $which) = @_;
  return $has_proc ? "/proc/$main/fd/" . fileno $job->{$which} : "$root/pipes/$job->{id}.$which";
}

# Our end and the process's.
sub new_pipe {
  my ($job, $which) = @_;
  my ($reading, $writing);
  if ($has_proc) { pipe($reading, $writing) or return () }
  else {
    mkdir 'pipes';
    my $file = "pipes/$job->{id}.$which";
    # Opened for both first, so that neither end waits for the other.
    fifo($file) && open(my $both, '+<', $file) && open($reading, '<', $file) && open($writing, '>', $file) or return ();
  }
  $job->{$which} = $which eq 'input' ? $writing : $reading;
  return $which eq 'input' ? $reading : $writing;
}

# Our side of a terminal, which does not wait, and the program's: TIOCPTYGRANT, TIOCPTYUNLK and TIOCPTYGNAME of macOS; else TIOCSPTLCK
# and TIOCGPTN.
sub new_terminal {
  require Fcntl;
  my $flags = Fcntl::O_RDWR() | Fcntl::O_NOCTTY();
  sysopen(my $ours, '/dev/ptmx', $flags | Fcntl::O_NONBLOCK()) or return ();
  my ($name, $unlocked) = ("\0" x 128, pack('i', 0));
  if ($^O eq 'darwin') {
    ioctl($ours, 0x20007454, 0) && ioctl($ours, 0x20007452, 0) && ioctl($ours, 0x40807453, $name) or return ();
    $name =~ s/\0.*//s;
  }
  else {
    ioctl($ours, 0x40045431, $unlocked) && ioctl($ours, 0x80045430, $name) or return ();
    $name = '/dev/pts/' . unpack('i', $name);
  }
  sysopen(my $theirs, $name, $flags) or return ();
  return ($ours, $theirs);
}

# A process's terminal, between its pipes. We hold the process's side as well: then ours is no end of file while nothing is open there.
sub on_terminal {
  my ($job, $keys, $screen) = @_;
  my ($ours, $theirs) = new_terminal() or return undef;
  fcntl($screen, 4, Fcntl::O_NONBLOCK()); # F_SETFL
  $job->{terminal} = {ours => $ours, theirs => $theirs, ways => [[$ours, $screen, ''], $keys ? [$keys, $ours, ''] : ()]};
  return $theirs;
}

# One piece from a terminal to its pipe, or from the other pipe to it. What cannot be written yet is held, and nothing more is read.
sub pass_on {
  my ($way) = @_;
  my ($from, $to) = @$way;
  return 0 unless length $way->[2] || sysread($from, $way->[2], $AT_ONCE);
  my $written = syswrite($to, $way->[2]) or return 0;
  substr($way->[2], 0, $written, '');
  return 1;
}

# Of a process that has ended. Its pipe gets room for what a kubelet has not read, by F_SETPIPE_SZ; what it left may go on printing.
sub pass_on_rest {
  my ($job) = @_;
  my $terminal = delete $job->{terminal} or return;
  my $way = $terminal->{ways}[0];
  fcntl($way->[1], 1031, 1 << 18);
  for (1 .. 64) { last unless pass_on($way) }
}

# A process of its own kind: in new namespaces, in another's PID namespace, or plain. As fork answers.
sub spawn {
  my ($flags, $beside, $network, $group) = @_;
  return spawn_within($flags, $network, $group) if $network;
  !$beside || join_namespaces($beside, 'pid') or return undef;
  my $pid = child($flags, $group);
  return $pid if defined $pid && $pid == 0;
  syscall($number{setns}, fileno $own_processes, $NEW_PROCESSES) if $beside;
  return defined $pid && $pid > 0 ? $pid : undef;
}

# As fork answers. In a control group from the first moment on, if one of version 2 is given: to move there later waits until each
# processor of the machine has done something else. Where that cannot be, the process moves itself.
sub child {
  my ($flags, $group) = @_;
  if ($group && $number{clone3} && open(my $folder, '<', $group)) {
    my $signal = $flags & $SAME_PARENT ? 0 : $SIGCHLD;
    my $pid = syscall($number{clone3}, pack('Q11', $flags | $INTO_CGROUP, 0, 0, 0, $signal, (0) x 5, fileno $folder), 88);
    $is_placed = 1 if $pid == 0;
    return $pid if $pid >= 0;
  }
  return $flags ? syscall($number{clone}, $flags | $SIGCHLD, 0, 0, 0, 0) : fork;
}

# Between us and a process with users of its own is one that joins the network, which belongs to the users that it leaves: it makes
# the process ours (CLONE_PARENT), and is gone.
sub spawn_within {
  my ($flags, $network, $group) = @_;
  pipe(my $told, my $telling) && defined(my $between = fork) or return undef;
  if (!$between) {
    my $pid = ask('setns', fileno $network, $NEW{net}) ? child($flags | $SAME_PARENT, $group) : -1;
    return 0 if $pid == 0;
    syswrite($telling, pack('ll', $pid, $!));
    kill 'KILL', $$;
  }
  close $telling;
  my $words;
  my ($pid, $error) = sysread($told, $words, 8) ? unpack('ll', $words) : (-1, 0);
  waitpid($between, 0);
  $! = $error;
  return $pid > 0 ? $pid : undef;
}

# Made by ourselves for a moment, since a namespace begins with a process. Undefined if it cannot be made.
sub namespace {
  my ($kind, $name, $folder) = @_;
  return $kept{$kind}{$name} if $kept{$kind}{$name};
  my $made = may_come_back($kind) ? made_by_us($kind) : made_by_child($kind, $folder);
  $kept{$kind}{$name} = $made if $made;
  return $made;
}
# Only who has rights in the namespaces of the machine comes back to them: not an ordinary user, nor root of a user namespace.
sub may_come_back { my ($kind) = @_; $> == 0 && ask('setns', fileno $own{$kind}, $NEW{$kind}) }
sub made_by_us {
  my ($kind) = @_;
  ask('unshare', $NEW{$kind}) or return undef;
  my $is_open = open(my $namespace, '<', "/proc/self/ns/$kind");
  return ask('setns', fileno $own{$kind}, $NEW{$kind}) && $is_open ? $namespace : undef;
}
# An ordinary user gets them in a user namespace of its own, which we enter for good with the first one; from there is no way back to the
# machine's own.
sub made_by_child {
  my ($kind, $folder) = @_;
  $own_users ||= $> == 0 || enter_users($folder) or return undef;
  pipe(my $told, my $telling) && pipe(my $waiting, my $release) && defined(my $child = fork) or return undef;
  if (!$child) {
    syscall($number{prctl}, 1, 9, 0, 0, 0);
    close $release;
    syswrite($telling, ask('unshare', $NEW{$kind}) ? 'made' : pack('L', $! + 0));
    sysread($waiting, my $nothing, 1);
    exit;
  }
  close $telling;
  sysread($told, my $word, 4) or return undef;
  my $is_made = $word eq 'made';
  my $problem = $is_made ? 0 : unpack('L', $word);
  my $namespace;
  my $is_open = $is_made && open($namespace, '<', "/proc/$child/ns/$kind");
  $problem ||= $! + 0;
  close $release;
  waitpid($child, 0);
  $! = $problem;
  return $is_open ? $namespace : undef;
}

# The file `users` of the folder has a line for each shim: its user namespace, and what that is, since another process may have its number.
sub enter_users {
  my ($folder) = @_;
  my ($file, $users, $is_known);
  if ($folder && (mkdir($folder), open($file, '+>>', "$folder/users"))) {
    hold($file);
    seek($file, 0, 0);
    while (!$is_known && defined(my $line = <$file>)) {
      my ($place, $is) = split ' ', $line;
      $is_known = (readlink($place) // '') eq $is && open($users, '<', $place) && ask('setns', fileno $users, $NEW_USERS);
    }
  }
  $is_known ||= ask('unshare', $NEW_USERS) && !defined take_steps('identity', 4, ($> + 0) x 2, ($) + 0) x 2);
  syswrite($file, "/proc/$$/ns/user " . readlink('/proc/self/ns/user') . "\n") if $file && $is_known;
  return $is_known;
}

sub network {
  my ($name, $folder) = @_;
  return unless is_name($name);
  my $namespace = %number && namespace('net', $name, $folder);
  tell_kubelet('network', $name, $namespace ? "/proc/$main/fd/" . fileno $namespace : '-', $namespace ? '' : lc $!);
}

sub is_name { ($_[0] // '') =~ /^[\w-][\w.-]*\z/ }

# Told of what has not been asked for before.
sub refuse {
  my ($id, $why) = @_;
  tell_kubelet('failed', $id, 0, "error during container init: $why") if is_name($id) && !$job{$id};
}

# A damaged line starts nothing: not another program, and not one outside its namespaces.
sub is_whole {
  my ($id, $container, $input, $outputs, $flags, $beside, $pod, $network, $steps) = @_;
  return 0 unless defined $steps && is_name($id) && !$job{$id} && is_name($container) && is_name($pod) && is_name($network);
  return 0 if grep { !/^\d{1,10}\z/ } $input, $outputs, $flags, $beside;
  return !($flags & ~$NEW_NAMESPACES);
}

# The steps stay one text until the new process takes them: what we do with hundreds of words, each later process begins with.
sub run {
  my ($id, $container, $input, $outputs, $flags, $beside, $pod, $network, $steps) = @_;
  return refuse($id, 'the request is damaged') unless is_whole(@_);
  # In a PID namespace its process 1 gets what others leave.
  my $job = $job{$id} = { id => $id, container => $container, scatters => !($flags & $NEW_PROCESSES || $beside) };
  my $stdin = $input ? new_pipe($job, 'input') : undef;
  my $stdout = new_pipe($job, 'output');
  my $stderr = $outputs > 1 ? new_pipe($job, 'errors') : $stdout;
  ($stdin, $stdout, $stderr) = (on_terminal($job, $stdin, $stdout)) x 3 unless $outputs > 0;
  my %joined;
  $joined{ipc} = namespace('ipc', $pod) if $pod ne '-';
  $joined{net} = $kept{net}{$network} if $network ne '-';
  my $pid;
  if (!(grep { !$_ } values %joined) && (!$input || $stdin) && $stdout && $stderr && pipe(my $told, my $telling)) {
    my ($group) = $steps =~ m{^cgroup\t1\t(/[^\t]+)/cgroup\.procs(?:\t|\z)};
    decode($group) if defined $group;
    $pid = spawn($flags + 0, $beside + 0, $flags & $NEW_USERS ? delete $joined{net} : undef, $group);
    if (defined $pid && $pid == 0) {
      adopt() if $job->{scatters};
      become($steps, $telling, \%joined, $job->{terminal}, $stdin, $stdout, $stderr);
    }
    @$job{qw(pid told)} = ($pid, $told);
  }
  if (!$pid) {
    $job->{failed} = [now(), 'error during container init: ' . ($stdout ? '' : 'open a terminal or pipe: ') . lc $!];
    tell_of($job);
    return;
  }
  setpgrp($pid, $pid) unless $job->{terminal};
  $job_of_pid{$pid} = $job;
  $preparing{$id} = $job;
}

# One after the other is quicker than all at once: a word may be long. The percent sign last.
sub decode {
  for (grep { index($_, '%') >= 0 } @_) { s/%09/\t/g; s/%0A/\n/g; s/%2E/./g; s/%25/%/g }
}

# In the new process.
sub become {
  my ($steps, $telling, $joined, $terminal, $stdin, $stdout, $stderr) = @_;
  $terminal ? own_session() : setpgrp(0, 0);
  # Should we be killed, it is, too.
  syscall($number{prctl}, 1, 9, 0, 0, 0) if $number{prctl};
  syscall($number{rt_sigprocmask}, 1, $chld, 0, 8) if $signals;
  $SIG{PIPE} = $SIG{TERM} = 'DEFAULT';
  umask 022;
  my @steps = split /\t/, $steps, -1;
  decode(@steps);
  my $problem =
    ($stdin ? open(STDIN, $terminal ? '+<&' : '<&', $stdin) : open(STDIN, '<', '/dev/null')) && open(STDOUT, '>&', $stdout)
      && open(STDERR, '>&', $stderr) && (!$terminal || ioctl(STDIN, $CONTROLS, 0))
      && !(grep { !ask('setns', fileno $joined->{$_}, $NEW{$_}) } keys %$joined)
    ? take_steps(@steps)
    : "error during container init: $!";
  syswrite($telling, $problem // 'error during container init: there is nothing to run');
  exit 128;
}

# Its end of the pipe closes when the program is executed.
sub is_prepared {
  my ($job) = @_;
  delete $preparing{$job->{id}};
  my $got = sysread(delete $job->{told}, my $problem, 4096);
  if ($got) { $job->{failed} = [now(), $problem] }
  else { $job->{started} = now() }
  tell_of($job);
}

sub runs { my $job = $job{$_[0]}; $job && !$job->{failed} && !$job->{exited} }

# Takes notice of what has ended. True if there may be orphans now; adds the containers from which these can be.
sub collect {
  my ($origins) = @_;
  my $scattered;
  while ((my $pid = waitpid(-1, $HANG_NOT)) > 0) {
    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    my $job = delete $job_of_pid{$pid};
    if (!$job || $job->{scatters}) {
      $scattered = 1;
      $origins->{$_} = 1 for $job ? $job->{container} : @{delete $orphan{$pid} // []};
    }
    next unless $job;
    is_prepared($job) if $job->{told};
    next if $job->{failed};
    $job->{exited} = [now(), $code];
    pass_on_rest($job);
    $ending{$job->{id}} = $job if $job{$job->{id}};
  }
  return $adopts && $scattered;
}

# An orphan is its container's as long as that runs. It says itself whose it is, or is from what ended before it was seen; among several
# of these, one that has ended is reason enough to end it.
sub reap {
  my (%origins, %held);
  # Listed before the last look at what has ended: then each process that is listed has a known origin. A process that forks without end is not waited for.
  for (1 .. 10) {
    last unless collect(\%origins);
    $orphan{$_} //= undef for grep { !$job_of_pid{$_} } children();
  }
  for my $pid (keys %orphan) {
    $orphan{$pid} //= [mark_of($pid) // keys %origins];
    my @owners = @{$orphan{$pid}};
    next if @owners && !grep { !runs($_) } @owners;
    # Its group at once: what forks cannot be ahead. What is another user's is not waited for.
    my $group = getpgrp $pid;
    kill 'KILL', -$group if $group > 1 && $group != getpgrp;
    kill('KILL', $pid) and @held{@owners} = ();
  }
  for my $id (grep { !exists $held{$_} } keys %ending) {
    my ($at, $code) = @{delete($ending{$id})->{exited}};
    tell_kubelet('exited', $id, ago($at), $code) if $job{$id};
  }
}

sub forget {
  my ($id) = @_;
  delete $_->{$id} for values %kept;
  my $job = delete $job{$id} or return;
  # Unless it has been reaped: its number may be another's.
  kill 'KILL', -$job->{pid}, $job->{pid} if $job->{pid} && $job_of_pid{$job->{pid}} == $job;
  delete $preparing{$id};
  delete $job->{told};
  unlink map { "pipes/$id.$_" } qw(input output errors) unless $has_proc;
}

my %request = (
  hello => sub {
    # What is being prepared runs in a moment: then that can be told, too.
    for my $job (values %preparing) {
      wait_for(5, $job->{told}) or kill 'KILL', -$job->{pid}, $job->{pid};
      is_prepared($job);
    }
    $untold = '';
    $kubelet = $_[1];
    tell_kubelet('greeting', $_[0]);
    for my $job (values %job) {
      if ($job->{id} eq $job->{container}) { tell_of($job) }
      else { forget($job->{id}) }
    }
    tell_kubelet('known', $_[0]);
  },
  run => \&run,
  network => \&network,
  # A terminal's input has no end.
  input => sub { my $job = $job{$_[0]} or return; delete $job->{input} unless $job->{terminal} },
  size => sub {
    my ($id, @size) = @_;
    my $terminal = ($job{$id} // {})->{terminal} or return;
    set_size($terminal->{ours}, @size) if @size == 2 && !grep { !/^\d{1,5}\z/ } @size;
  },
  forget => \&forget,
);

sub finish {
  unlink 'requests', 'events', 'shim.pid', glob 'pipes/*';
  leave_nothing(keys %job_of_pid);
  exit;
}

open(my $pid_file, '>', 'shim.pid') or die "$root/shim.pid: $!\n";
print $pid_file "$main\n";
close $pid_file;

# Whether the pods end by their kubelet, now that the supervisor is gone.
sub kubelet_lives {
  return 0 unless $kubelet && kill 0, $kubelet;
  open(my $file, '<', "/proc/$kubelet/stat") or return 1;
  return (<$file> // '') !~ /\) Z /;
}

my $unread = '';
# The beginning of a line that is too long.
my $overlong;
my $supervisor = $mode eq 'alone' ? undef : \*STDIN;
my $until;
my $asked_to_end;
$SIG{TERM} = sub { $asked_to_end = 1 };
while (1) {
  finish() if $asked_to_end || ($until && (now() >= $until || !kubelet_lives()));
  my ($readable, $writable) = ('', '');
  vec($readable, fileno $_, 1) = 1
    for $requests, $shims, $signals || (), $supervisor || (), map { $_->{told} } values %preparing;
  vec($writable, fileno $events, 1) = 1 if length $untold;
  my @ways = map { @{$_->{ways}} } grep { defined } map { $_->{terminal} } values %job_of_pid;
  for my $way (@ways) {
    if (length $way->[2]) { vec($writable, fileno $way->[1], 1) = 1 }
    else { vec($readable, fileno $way->[0], 1) = 1 }
  }
  my $ready = select($readable, $writable, undef, !$signals && %job_of_pid ? 0.05 : $until ? 0.1 : undef);
  next if $ready < 0;
  finish() if vec($readable, fileno $shims, 1);
  if ($supervisor && vec($readable, fileno $supervisor, 1) && !sysread($supervisor, my $nothing, 4096)) {
    $until = now() + 1000 * $grace;
    undef $supervisor;
    next;
  }
  for my $job (values %preparing) { is_prepared($job) if vec($readable, fileno $job->{told}, 1) }
  for (@ways) { pass_on($_) if length $_->[2] ? vec($writable, fileno $_->[1], 1) : vec($readable, fileno $_->[0], 1) }
  if ($signals && vec($readable, fileno $signals, 1)) { sysread($signals, my $signal, 128) }
  reap();
  if (vec($readable, fileno $requests, 1)) {
    my $before = length $unread;
    sysread($requests, $unread, 65536, $before);
    # Only what came is searched; of a line that is too long only the beginning is kept, to refuse it; its end is no request.
    my $end = index($unread, "\n", $before);
    if ($end < 0) {
      if (defined $overlong || length $unread > $LONGEST) {
        $overlong //= substr($unread, 0, $AT_ONCE);
        $unread = '';
      }
    }
    elsif (defined $overlong) {
      my ($verb, $id) = split /\t/, $overlong;
      refuse($id, "the request has more than $LONGEST bytes") if $verb eq 'run';
      ($unread, $overlong) = (substr($unread, $end + 1), undef);
    }
    while ($end >= 0 && $unread =~ s/^([^\n]*)\n//) {
      my $line = $1;
      # A kubelet may have died in the middle of a line.
      next unless $line =~ s/\t\.\z//;
      my ($verb, @words) = split /\t/, $line, $WORDS + 1;
      decode(grep { !/\t/ } @words);
      finish() if $verb eq 'end' && !@words;
      $request{$verb}->(@words) if $request{$verb};
    }
  }
  write_events();
}
