# Leads TCP connections for Services to their endpoints, where the kernel has no rules for it. It lies in the node's network, as the
# door does that starts it, so no byte crosses a process more than once.
# usage: perl relay.pl NAME NUMBER...
#
# NAME …     system calls by number
# Requests of the door come by stdin, one a line; it ends with them. Each gets a line on stdout: empty, or what failed, a tab, the error.
#   serve FILE   serves what this file has, and nothing else. Its first line has addresses of pods that are gone: connections to them are
#                reset. Each other line: ADDRESS PORT SECONDS ENDPOINT…; a client comes back to an endpoint within so many seconds
#   lost FILE    writes how many connections were lost since the beginning, by kind and address of the endpoint
use strict;
use Socket qw(:DEFAULT IPPROTO_TCP TCP_NODELAY MSG_DONTWAIT MSG_NOSIGNAL);
our %number = @ARGV;

my ($READABLE, $WRITABLE, $ERROR, $HUNG_UP, $ENDED, $ON_CHANGE) = (0x1, 0x4, 0x8, 0x10, 0x2000, 0x80000000);
my ($ADD, $NOT_WAITING) = (1, 0x800); # EPOLL_CTL_ADD, SOCK_NONBLOCK
my ($AGAIN, $UNDER_WAY, $REFUSED, $TIMED_OUT) = (11, 115, 111, 110);
my $EVENT = $number{epoll_pwait} == 281 ? 'LQ' : 'Lx4Q'; # without a gap on x86-64 alone
my $EVENT_BYTES = length pack($EVENT, 0, 0);
my ($MOST_EVENTS, $MOST, $PIECE, $PIECES) = (256, 4_096, 1 << 17, 16);
my $CONNECT_SECONDS = 10;
my $MOST_CLIENTS = 10_000; # that are remembered for a port

my $epoll = syscall($number{epoll_create1}, 0);
# By file number.
my (%listener, %connection);
# By place: what is served.
my %served;
# In the order in which they began: connections that are not made yet; and those that have more to pass on at once.
my (@dialling, @busy);
my (%lost, %gone);
$SIG{PIPE} = 'IGNORE';

sub watch { syscall($number{epoll_ctl}, $epoll, $ADD, fileno $_[0], pack($EVENT, $_[1], fileno $_[0])) == 0 }
sub now {
  my $time = "\0" x 16;
  syscall($number{clock_gettime}, 1, $time);
  return (unpack 'qq', $time)[0];
}

sub serve {
  my ($name) = @_;
  open(my $file, '<', $name) or return "$name\t" . ($! + 0);
  %gone = map { $_ => 1 } split ' ', <$file>;
  my (%wanted, $problem);
  while (<$file>) {
    my ($address, $port, $seconds, @ends) = split ' ';
    # One without an end is refused by the kernel.
    $wanted{"$address:$port"} = { at => pack_sockaddr_in($port, inet_aton($address)), seconds => $seconds, ends => \@ends } if @ends;
  }
  for my $place (grep { !$wanted{$_} } keys %served) { delete $listener{fileno delete($served{$place})->{socket}} }
  for my $place (keys %wanted) {
    my $known = $served{$place};
    if ($known) { @$known{qw(seconds ends)} = @{$wanted{$place}}{qw(seconds ends)} }
    else {
      my $made = listen_at($wanted{$place}) or $problem //= "$place\t" . ($! + 0), next;
      $listener{fileno $made->{socket}} = $served{$place} = $made;
    }
  }
  my @open = values %connection;
  for (@open) { give_up($_, 'reset') if $gone{$_->{ip}} }
  return $problem // '';
}
sub listen_at {
  my ($port) = @_;
  socket(my $socket, AF_INET, SOCK_STREAM | $NOT_WAITING, 0) or return undef;
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1);
  setsockopt($socket, IPPROTO_TCP, TCP_NODELAY, 1); # Its connections have it, too.
  bind($socket, $port->{at}) && listen($socket, 511) && watch($socket, $READABLE) or return undef;
  return { %$port, socket => $socket, clients => {} };
}

sub lost {
  my ($name) = @_;
  my $is_open = open(my $file, '>', $name);
  print $file map { "$_ $lost{$_}\n" } keys %lost if $is_open;
  return $is_open && close($file) ? '' : "$name\t" . ($! + 0);
}

# By chance; the same one again where it remembers clients.
sub end_for {
  my ($port, $client) = @_;
  my ($ends, $clients, $now) = (@$port{qw(ends clients)}, now());
  my ($known, $until) = @{$clients->{$client} // []};
  $known = undef unless $known && $until > $now && grep { $_ eq $known } @$ends;
  my $end = $known // $ends->[rand @$ends] or return undef;
  return $end unless $port->{seconds};
  delete $clients->{(keys %$clients)[0]} if keys %$clients >= $MOST_CLIENTS && !$clients->{$client};
  $clients->{$client} = [$end, $now + $port->{seconds}];
  return $end;
}

sub take {
  my ($port) = @_;
  my $from = accept(my $client, $port->{socket});
  if (!$from) {
    # Without a file number to be had, the connection waits.
    select(undef, undef, undef, 0.02) unless $! == $AGAIN;
    return;
  }
  my $end = keys %connection < 2 * $MOST && end_for($port, (unpack_sockaddr_in($from))[1]);
  my ($ip, $number) = split /:/, $end || '';
  my $open = { ip => $ip, client => $client };
  return reset_socket($client) unless $end;
  return give_up($open, 'unreachable') if $gone{$ip};
  socket(my $made, AF_INET, SOCK_STREAM | $NOT_WAITING, 0) or return reset_socket($client);
  setsockopt($made, IPPROTO_TCP, TCP_NODELAY, 1);
  @$open{qw(end until)} = ($made, now() + $CONNECT_SECONDS);
  $connection{fileno $_} = $open for $client, $made;
  if (!connect($made, pack_sockaddr_in($number, inet_aton($ip))) && $! != $UNDER_WAY) { return is_refused($open, $! + 0) }
  push @dialling, $open;
  watch($_, $READABLE | $WRITABLE | $ENDED | $ON_CHANGE) for $made, $client;
}

sub reset_socket {
  setsockopt($_[0], SOL_SOCKET, SO_LINGER, pack('ii', 1, 0));
  close $_[0];
}
sub finish {
  my ($open) = @_;
  delete $connection{fileno $_} for grep { $_ } @$open{qw(client end)};
  $open->{is_over} = 1;
}
# Both ends hear of it; it is lost unless one of them has closed it in order.
sub give_up {
  my ($open, $kind) = @_;
  return if $open->{is_over};
  $lost{"$kind $open->{ip}"}++ if $kind && !$open->{client_ended} && !$open->{end_ended};
  finish($open);
  reset_socket($_) for grep { $_ } @$open{qw(client end)};
}
sub is_refused { give_up($_[0], $_[1] == $REFUSED ? 'refused' : 'unreachable') }

sub go_on {
  my ($open) = @_;
  return if $open->{is_over};
  if (!$open->{is_made}) {
    my $error = unpack('l', getsockopt($open->{end}, SOL_SOCKET, SO_ERROR));
    return is_refused($open, $error) if $error;
    $open->{is_made} = getpeername($open->{end}) or return;
  }
  my $is_busy = 0;
  for my $way (['client', 'end'], ['end', 'client']) {
    my $more = pass_on($open, @$way) // return give_up($open, $open->{broken} eq 'end' ? 'reset' : undef);
    $is_busy ||= $more;
  }
  if ($open->{end_ended} && $open->{client_ended}) {
    finish($open);
    close $_ for @$open{qw(client end)};
  }
  elsif ($is_busy) { push @busy, $open }
}

# What one sends to the other, as far as it can go. True if there is more at once; undefined if one of them is broken. What is held is
# the part that the other has not taken.
my $piece;
sub pass_on {
  my ($open, $from, $to) = @_;
  for (1 .. $PIECES) {
    my $held = delete $open->{"for_$to"};
    if (!defined $held) {
      return 0 if $open->{"${from}_ended"};
      defined recv($open->{$from}, $piece, $PIECE, MSG_DONTWAIT) or return $! == $AGAIN ? 0 : is_broken($open, $from);
      if (!length $piece) {
        $open->{"${from}_ended"} = 1;
        shutdown($open->{$to}, 1);
        return 0;
      }
    }
    my $length = length($held // $piece);
    my $sent = send($open->{$to}, $held // $piece, MSG_DONTWAIT | MSG_NOSIGNAL) // ($! == $AGAIN ? 0 : return is_broken($open, $to));
    if ($sent < $length) {
      $open->{"for_$to"} = substr($held // $piece, $sent);
      return 0 unless $sent;
    }
    # Less than a piece was all that there was: the next change tells of more.
    return 0 if $length < $PIECE && !defined $held && !$open->{"${from}_hung_up"};
  }
  return 1;
}
sub is_broken {
  my ($open, $which) = @_;
  $open->{broken} = $which;
  return undef;
}

my %request = (serve => \&serve, lost => \&lost);
my $unread = '';
watch(\*STDIN, $READABLE);
my $events = "\0" x ($EVENT_BYTES * $MOST_EVENTS);
while (1) {
  my $now = @dialling ? now() : 0;
  shift @dialling while @dialling && ($dialling[0]{is_made} || $dialling[0]{is_over});
  is_refused(shift @dialling, $TIMED_OUT) while @dialling && !$dialling[0]{is_over} && $dialling[0]{until} < $now;
  my $count = syscall($number{epoll_pwait}, $epoll, $events, $MOST_EVENTS, @busy ? 0 : @dialling ? 1_000 : -1, 0, 8);
  my @again = splice @busy;
  for (0 .. $count - 1) {
    my ($what, $number) = unpack $EVENT, substr($events, $_ * $EVENT_BYTES, $EVENT_BYTES);
    if (my $open = $connection{$number}) {
      my $side = $open->{end} && $number == fileno $open->{end} ? 'end' : 'client';
      $open->{"${side}_hung_up"} = 1 if $what & ($ENDED | $HUNG_UP | $ERROR);
      go_on($open);
    }
    elsif (my $port = $listener{$number}) { take($port) }
    elsif ($number == fileno STDIN) {
      sysread(STDIN, $unread, 65536, length $unread) or exit;
      while ($unread =~ s/^(\w+) ([^\n]*)\n//) { syswrite(STDOUT, $request{$1}->($2) . "\n") }
    }
  }
  go_on($_) for @again;
}
