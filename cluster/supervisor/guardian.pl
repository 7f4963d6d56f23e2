# Holds the life line of a cluster's pods, and starts its API server again when that ends by itself. It answers no requests.
# usage: perl guardian.pl PRCTL COMMAND ARGUMENT...
#
# PRCTL      number of the system call prctl, or 0: with it the server dies with this process even when it is stopped
# COMMAND    the server; its variable KUBESTAGE_GUARDIAN is "LIFE WORDS RESTARTS ENDING PID":
#   LIFE     descriptor of a pipe whose other end only this process holds: shims have it as stdin, and end when it closes
#   WORDS    descriptor of a pipe to this process. Lines: "keep" (start me again if I end) or "end" (do not), of which the last one counts;
#            "hold SECONDS FILE..." between tabs: process ids of kubelets are in these files, each needs so long to end its pods;
#            "others PID..." between tabs: further API servers, which run on while this one does not
#   RESTARTS how many servers there were before, ENDING how the last of them ended (a dash: none), PID of this process
#
# This process ends when the server ends in order, when it ends again and again and no further API server lives, or when SIGINT, SIGTERM or
# SIGHUP arrives between two servers.
# In the latter cases it asks the kubelets of the last server to end their pods. A second signal, and its own end, end every pod at once:
# the life line closes, which the shims see.
use strict;
my ($prctl, @command) = @ARGV;
my $close_on_exec = 1;
my $most_in_a_row = 5;
my $steady = 60;  # seconds; after a server has lived so long, its ends are counted from 0 again
my $first_delay = 0.25;
my $longest_delay = 8;
my %name = (1 => 'SIGHUP', 2 => 'SIGINT', 3 => 'SIGQUIT', 4 => 'SIGILL', 5 => 'SIGTRAP', 6 => 'SIGABRT', 9 => 'SIGKILL', 11 => 'SIGSEGV', 15 => 'SIGTERM');

my ($server, $asked);
my $times_asked = 0;
my ($grace, @pid_files) = (0);
my @others;
$SIG{$_} = sub { $asked = shift; $times_asked++; kill $asked, $server if $server } for qw(INT TERM HUP);
$SIG{PIPE} = 'IGNORE';

# Passed on to the server, or kept from it.
sub inherited { fcntl($_[0], 2, 0) }
sub own { fcntl($_[0], 2, $close_on_exec) }

pipe(my $life, my $holding) or die "pipe: $!\n";
inherited($life);
own($holding);

# The pipe of the program that started us, where there is one: when it closes, everything ends.
my $starter;
sub report { syswrite(STDERR, "kubestage: $_[0]\n") }

if (defined(my $fd = $ENV{KUBESTAGE_LAUNCHER_FD})) {
  if ($fd !~ /^\d{1,9}$/ || !open($starter, '<&=', $fd) || !(-p $starter || -S _)) {
    report('KUBESTAGE_LAUNCHER_FD is an internal variable of kubestage up, and its value is not valid: unset it');
    exit 1;
  }
  inherited($starter);
}

# Waits for some seconds (undef: without end), the server's last word or the starter's end; true when there is something to read.
sub wait_for {
  my ($seconds, $words) = @_;
  my $bits = '';
  vec($bits, fileno $_, 1) = 1 for grep { $_ } $words, $starter;
  my $found = select($bits, undef, undef, $seconds);
  return 0 unless $found > 0;
  if ($starter && vec($bits, fileno $starter, 1) && !sysread($starter, my $nothing, 4096)) {
    kill 'KILL', $server if $server;
    exit 137;
  }
  return $words && vec($bits, fileno $words, 1);
}

sub start_server {
  my ($restarts, $ending) = @_;
  pipe(my $words, my $speaking) or die "pipe: $!\n";
  own($words);
  my $parent = $$;
  my $pid = fork;
  die "fork: $!\n" unless defined $pid;
  if (!$pid) {
    inherited($speaking);
    syscall($prctl, 1, 9, 0, 0, 0) if $prctl;
    exit 137 if getppid() != $parent;
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP PIPE);
    $ENV{KUBESTAGE_GUARDIAN} = join ' ', fileno $life, fileno $speaking, $restarts, $ending, $parent;
    exec { $command[0] } @command or die "kubestage: cannot run $command[0]: $!\n";
  }
  return ($pid, $words);
}

# Resolves to the server's last word and how it ended.
sub follow {
  my ($words) = @_;
  my ($last, $unread) = ('', '');
  while (1) {
    next unless wait_for(undef, $words);
    my $got = sysread($words, $unread, 4096, length $unread);
    last if defined $got && !$got;
    while ($unread =~ s/^([^\n]*)\n//) {
      my ($word, @rest) = split /\t/, $1;
      if ($word eq 'hold') { ($grace, @pid_files) = @rest }
      elsif ($word eq 'others') { @others = @rest }
      else { $last = $word }
    }
  }
  1 until waitpid($server, 0) == $server;
  my $status = $?;
  undef $server;
  return ($last, $status);
}

sub lives {
  my ($pid) = @_;
  return 0 unless $pid && kill 0, $pid;
  open(my $file, '<', "/proc/$pid/stat") or return 1;
  return (<$file> // '') !~ /\) Z /;
}

sub pid_in { open(my $file, '<', $_[0]) or return 0; return (<$file> // '') =~ /^(\d+)$/ ? $1 : 0 }

# By the kubelets of the last server, which wait; until they have ended, their time is over, or a further signal arrives.
sub end_pods {
  my $before = $times_asked;
  my $until = time + $grace;
  my @kubelets = grep { lives($_) } map { pid_in($_) } @pid_files;
  kill 'TERM', @kubelets if @kubelets;
  while (@kubelets && time <= $until && $times_asked == $before) {
    wait_for(0.05);
    @kubelets = grep { lives($_) } @kubelets;
  }
}

my ($restarts, $in_a_row, $ending) = (0, 0, '-');
while (1) {
  my $started = time;
  ($server, my $words) = start_server($restarts, $ending);
  my ($word, $status) = follow($words);
  my $signal = $status & 127;
  my $code = $signal ? 128 + $signal : $status >> 8;
  my $is_kept = $word eq 'keep' || ($word eq '' && $restarts);
  exit $code if $asked || !$is_kept;
  $in_a_row = 0 if time - $started > $steady;
  wait_for(0);
  $ending = $signal ? $name{$signal} // "signal $signal" : "exit-code-$code";
  my $delay = $first_delay * 2**$in_a_row++;
  $delay = $longest_delay if $delay > $longest_delay;
  if ($in_a_row >= $most_in_a_row) {
    if (!grep { lives($_) } @others) {
      report("the API server ended $in_a_row times in a row (at last: $ending), so the cluster ends: pods end in order now; start it again with kubestage up");
      end_pods();
      exit $code || 1;
    }
    report("the API server ended ($ending) $in_a_row times in a row; the others go on, and it starts again in $delay s");
  } else {
    report("the API server ended ($ending) and starts again; the pods run on");
  }
  wait_for($delay);
  if ($asked) { end_pods(); exit 128 + 15 }
  $restarts++;
}
