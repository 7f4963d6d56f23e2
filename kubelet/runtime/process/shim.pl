# Starts processes for the kubelet, and outlives it: whatever happens to a kubelet, its containers go on, their output is kept as far
# as a pipe holds it, and their exits are remembered until a kubelet wants to forget them.
# usage: perl shim.pl ROOT supervised|alone|SECONDS [NAME NUMBER]...
#
# stdin      when supervised, a pipe whose other end only the supervisor holds; when it closes, everything ends here
# SECONDS    supervised as well: when the pipe closes, the kubelet has so long to end its pods; if it is gone, everything ends at once
# NAME …     system calls by number; without them no namespaces can be had, and exits are noticed a little later
# ROOT/requests   lines from the kubelet, words between tabs (%09 a tab, %0A a new line, %25 a percent sign), the last word is a dot:
#   hello WHO PID                  a new kubelet: commands of the one before are ended, and all that is known is told again
#   run ID KIND INPUT OUTPUTS FLAGS PID STEP…   KIND container or command; INPUT 1: with a pipe to read; OUTPUTS 1 or 2; FLAGS of new
#                                  namespaces; PID of a process whose PID namespace is joined, or 0; the steps are container.pl's
#   input ID                       it gets no more to read
#   forget ID                      nothing of it is wanted any more
#   end                            ends everything
# ROOT/events     lines to the kubelet, of the same form without the dot:
#   greeting WHO                   what follows is for the kubelet that said hello
#   started ID AGO PID OUTPUT ERRORS INPUT   it runs, since so many milliseconds; names of its pipes, to be opened, or a dash
#   failed ID AGO WHY              it could not be started
#   exited ID AGO CODE             as a shell counts: 128 and the signal
#   known WHO                      all is told
use strict;
(my $here = $0) =~ s{[^/]*$}{};
our %number;
require "${here}container.pl";
(my ($root, $mode), %number) = @ARGV;

umask 077;
mkdir $root;
chdir $root or die "$root: $!\n";
$ENV{PATH} ||= '/usr/sbin:/usr/bin:/sbin:/bin';
$SIG{PIPE} = 'IGNORE';
my $grace = $mode =~ /^\d+$/ ? $mode : 0;

my $NEW_PROCESSES = 0x20000000;
my $SIGCHLD = 17;
my $HANG_NOT = 1;
my $AT_ONCE = 4096; # what a pipe takes whole or not at all

# Whatever carries our mark in its environment, wherever it went.
sub kill_marked {
  for my $file (glob '/proc/[0-9]*/environ') {
    open(my $environment, '<', $file) or next;
    local $/;
    my $text = <$environment>;
    next unless defined $text && "\0$text" =~ /\0KUBESTAGE_CONTAINER=\Q$root\E:/;
    kill 'KILL', $1 if $file =~ m{(\d+)};
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

sub leave_nothing { kill_marked(); unmount_volumes() }

sub wait_for {
  my ($seconds, @handles) = @_;
  my $bits = '';
  vec($bits, fileno $_, 1) = 1 for @handles;
  select($bits, undef, undef, $seconds) > 0 or return ();
  return grep { vec($bits, fileno $_, 1) } @handles;
}

# Does what is left to do when this process is killed, or does not end although its supervisor has.
pipe(my $living, my $alive) or die "pipe: $!\n";
my $main = $$;
my $guard = fork;
die "fork: $!\n" unless defined $guard;
if (!$guard) {
  close $alive;
  wait_for(undef, $living, $mode eq 'alone' ? () : (\*STDIN));
  wait_for($grace + 8, $living) or kill 'KILL', $main;
  leave_nothing();
  exit;
}
close $living;

# What an earlier one left that was killed together with its guard.
leave_nothing();

unlink 'requests', 'events', 'shim.pid', 'lost', 'boot', glob 'pipes/*';
my $has_proc = %number && -d '/proc/self/fd';
sub fifo { require POSIX; POSIX::mkfifo($_[0], 0600) }
# In this order: whoever can open the requests finds the events ready.
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

my (%job, %job_of_pid, %preparing);
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

# A process of its own kind: in new namespaces, in another's PID namespace, or plain. As fork answers.
sub spawn {
  my ($flags, $beside) = @_;
  !$beside || join_namespaces($beside, 'pid') or return undef;
  my $pid = $flags ? syscall($number{clone}, $flags | $SIGCHLD, 0, 0, 0, 0) : fork;
  return $pid if defined $pid && $pid == 0;
  syscall($number{setns}, fileno $own_processes, $NEW_PROCESSES) if $beside;
  return defined $pid && $pid > 0 ? $pid : undef;
}

sub run {
  my ($id, $kind, $input, $outputs, $flags, $beside, @steps) = @_;
  my $job = $job{$id} = { id => $id, kind => $kind };
  my $stdin = $input ? new_pipe($job, 'input') : undef;
  my $stdout = new_pipe($job, 'output');
  my $stderr = $outputs > 1 ? new_pipe($job, 'errors') : $stdout;
  my $pid;
  if ((!$input || $stdin) && $stdout && $stderr && pipe(my $told, my $telling)) {
    $pid = spawn($flags + 0, $beside + 0);
    become(\@steps, $telling, $stdin, $stdout, $stderr) if defined $pid && $pid == 0;
    @$job{qw(pid told)} = ($pid, $told);
  }
  if (!$pid) {
    $job->{failed} = [now(), "error during container init: $!"];
    tell_of($job);
    return;
  }
  setpgrp($pid, $pid);
  $job_of_pid{$pid} = $job;
  $preparing{$id} = $job;
}

# In the new process.
sub become {
  my ($steps, $telling, $stdin, $stdout, $stderr) = @_;
  setpgrp(0, 0);
  # Should we be killed, it is, too.
  syscall($number{prctl}, 1, 9, 0, 0, 0) if $number{prctl};
  syscall($number{rt_sigprocmask}, 1, $chld, 0, 8) if $signals;
  $SIG{PIPE} = $SIG{TERM} = 'DEFAULT';
  umask 022;
  my $problem =
    ($stdin ? open(STDIN, '<&', $stdin) : open(STDIN, '<', '/dev/null')) && open(STDOUT, '>&', $stdout) && open(STDERR, '>&', $stderr)
    ? take_steps(@$steps)
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

sub reap {
  while ((my $pid = waitpid(-1, $HANG_NOT)) > 0) {
    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    my $job = delete $job_of_pid{$pid} or next;
    is_prepared($job) if $job->{told};
    next if $job->{failed};
    $job->{exited} = [now(), $code];
    tell_kubelet('exited', $job->{id}, 0, $code) if $job{$job->{id}};
  }
}

sub forget {
  my ($id) = @_;
  my $job = delete $job{$id} or return;
  unlink map { "pipes/$id.$_" } qw(input output errors) unless $has_proc;
}

my %request = (
  hello => sub {
    # What is being prepared runs in a moment: then that can be told, too.
    for my $job (values %preparing) {
      wait_for(5, $job->{told}) or kill 'KILL', -$job->{pid};
      is_prepared($job);
    }
    $untold = '';
    $kubelet = $_[1];
    tell_kubelet('greeting', $_[0]);
    for my $job (values %job) {
      if ($job->{kind} eq 'container') { tell_of($job); next }
      kill 'KILL', -$job->{pid} if $job->{pid} && !$job->{exited};
      forget($job->{id});
    }
    tell_kubelet('known', $_[0]);
  },
  run => \&run,
  input => sub { my $job = $job{$_[0]} or return; delete $job->{input} },
  forget => \&forget,
);

sub finish {
  kill 'KILL', $guard;
  # Again and again, since what was just being started may have been missed.
  for (1 .. 250) {
    kill 'KILL', -$_ for keys %job_of_pid;
    kill_marked();
    reap();
    last unless %job_of_pid;
    select(undef, undef, undef, 0.02);
  }
  unmount_volumes();
  unlink 'shim.pid';
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
my $supervisor = $mode eq 'alone' ? undef : \*STDIN;
my $until;
my $asked_to_end;
$SIG{TERM} = sub { $asked_to_end = 1 };
while (1) {
  finish() if $asked_to_end || ($until && (now() >= $until || !kubelet_lives()));
  my ($readable, $writable) = ('', '');
  vec($readable, fileno $_, 1) = 1
    for $requests, $signals || (), $supervisor || (), map { $_->{told} } values %preparing;
  vec($writable, fileno $events, 1) = 1 if length $untold;
  my $ready = select($readable, $writable, undef, !$signals && %job_of_pid ? 0.05 : $until ? 0.1 : undef);
  next if $ready < 0;
  if ($supervisor && vec($readable, fileno $supervisor, 1) && !sysread($supervisor, my $nothing, 4096)) {
    $until = now() + 1000 * $grace;
    undef $supervisor;
    next;
  }
  for my $job (values %preparing) { is_prepared($job) if vec($readable, fileno $job->{told}, 1) }
  if ($signals && vec($readable, fileno $signals, 1)) { sysread($signals, my $signal, 128) }
  reap();
  if (vec($readable, fileno $requests, 1)) {
    sysread($requests, $unread, 65536, length $unread);
    while ($unread =~ s/^([^\n]*)\n//) {
      my ($verb, @words) = split /\t/, $1, -1;
      # A kubelet may have died in the middle of a line.
      next unless @words && pop @words eq '.';
      s/%([0-9A-F]{2})/chr hex $1/ge for @words;
      finish() if $verb eq 'end';
      $request{$verb}->(@words) if $request{$verb};
    }
  }
  write_events();
}
