# The one door into a node's network: enters it, builds what is in it, and hands sockets that lie in it to the kubelet, whose child it is.
# It ends with the channel to the kubelet; what it has built stays as long as the namespaces.
# usage: perl door.pl NETWORK NAME NUMBER...
#
# NETWORK   a file that is the node's network namespace; or `try`: makes one of its own, builds in it, prints why that fails, and ends;
#           or `try-tunnel`: the same with a tunnel
# NAME …    system calls by number
# Requests come as JSON texts on Node's channel, words between tabs; the first is a number, which the answer repeats:
#   bridge ADDRESS BITS            the bridge of the pods, with its address
#   address ADDRESS                one more address of the node
#   pod NAMESPACE ADDRESS GATEWAY SETTING…   the network of a pod in this namespace; settings are `net/name=value`
#   link NAME ADDRESS NETWORK BITS GATEWAY   a way between the machine, where it has this name, address and route, and the bridge
#   services NAME NETWORK BITS GATEWAY ADDRESS OWNER   the machine's route to the range of Services, by this link of it
#   neighbour FILE NODE NETWORK BITS NODE NETWORK BITS   a way to the network of another node, which this file is; own words first
#   tunnel FILE                    a way to nodes of other machines; see tunnel.pl for the file
#   rules FILE                     rules of nftables, as commands of nft
#   sets FILE                      writes what their sets have into a file, as JSON
#   forget FILE                    exchanges of datagrams that go to others than they should; a line of the file: a place, and its ends
#   serve FILE                     TCP ports of Services, by a process beside the door; see relay.pl for the file
#   lost FILE                      what was lost there
#   connect HOST PORT MS [NAMESPACE]   a connection; from the node, or from within this namespace
#   sctp                           whether the kernel has it; it loads what it needs
#   marked MARK                    packets with this mark are the node's, wherever they go
#   listen HOST PORT [others]      a server; with this word also of connections to other addresses
#   bind HOST PORT                 a socket for datagrams
# Answers: {"id":1}, with "errno" and "what" if it failed; with a socket in the form in which Node passes handles.
use strict;
use Fcntl;
use Socket qw(:DEFAULT IPPROTO_IPV6 IPPROTO_UDP inet_pton);
(my $here = $0) =~ s{[^/]*$}{};
require "${here}../shim/calls.pl";
require "${here}netlink.pl";
require "${here}tunnel.pl";
our %number;
(my $place, %number) = @ARGV;

my $NEW_NETWORK = 0x40000000;
my $NEW_USERS = 0x10000000;
my ($LOOPBACK, $BRIDGE) = (1, 1000); # indexes; no link of the kernel's own has the second
my $UNDER_WAY = 115; # EINPROGRESS
my $TIMED_OUT = 110;
my ($NETWORK_ADMIN, $RAW_NETWORK) = (12, 13); # capabilities
my ($MISSING, $INVALID) = (2, 22);
my $TRANSPARENT = 19; # IP_TRANSPARENT
my $NETFILTER = 12; # NETLINK_NETFILTER

# What went wrong, for the answer.
my $what;
sub fails { $what = $_[0]; 0 }

my ($machine, $machine_socket) = (netlink(), any_socket());
my $own;
my $node;
$SIG{PIPE} = 'IGNORE';

# Runs something in another network namespace, for a moment.
sub within {
  my ($namespace, $do) = @_;
  ask('setns', fileno $namespace, $NEW_NETWORK) or return ();
  my @results = $do->();
  my $error = $!;
  ask('setns', fileno $own, $NEW_NETWORK) or die "the door cannot return: $!\n";
  $! = $error;
  return @results;
}

sub bridge {
  my ($address, $bits) = @_;
  # An address of its own: else it takes that of a pod, and all neighbours must learn it again.
  my $mac = "\x02\x42" . inet_aton($address);
  my @links = (new_bridge({ index => $BRIDGE, name => 'pods', address => $mac }), set_link({ index => $LOOPBACK }));
  ask_kernel($node, 1, @links, new_address($BRIDGE, $address, $bits), last_route($BRIDGE)) or return fails('the bridge');
  # All goes through the node's rules once, as a router's: pods are not told of shorter ways, and the bridge asks no rules itself.
  write_file("/proc/sys/net/ipv4/conf/$_/send_redirects", 0) for 'all', 'pods';
  write_file('/proc/sys/net/bridge/bridge-nf-call-iptables', 0);
  # Each client that is refused hears it at once: the kernel would tell some of them, and one a second after that.
  write_file('/proc/sys/net/ipv4/icmp_ratelimit', 0);
  return write_file('/proc/sys/net/ipv4/ip_forward', 1) || fails('ip_forward');
}

# Changes nothing where one of them is wrong.
sub rules {
  my $end = system('nft', '-f', $_[0]);
  $! = $INVALID if $end > 0;
  return $end == 0 || fails("nft -f $_[0]");
}

sub marked { ask_kernel($node, 1, take_marked($_[0], $LOOPBACK)) || fails('the rule of marked packets') }

sub sets {
  my $end = system('sh', '-c', 'exec nft -j list sets > "$0"', $_[0]);
  $! = $INVALID if $end > 0;
  return $end == 0 || fails('nft list sets');
}

# Reads what the kernel tracks once, and deletes what of these places does not come back from their ends.
sub forget {
  my %ends;
  open(my $file, '<', $_[0]) or return fails('the list of exchanges');
  while (<$file>) {
    my ($at, @ends) = split ' ';
    $ends{$at} = { map { $_ => 1 } @ends };
  }
  my ($socket, @stale) = netlink($NETFILTER);
  each_exchange($socket, IPPROTO_UDP, sub {
    my ($tuple, $to, $from) = @_;
    push @stale, $tuple if $ends{$to} && !$ends{$to}{$from};
  }) or return fails('the exchanges of datagrams');
  # One that the kernel has forgotten meanwhile is gone as well.
  ask_kernel($socket, 0, delete_exchange($_)) for @stale;
  return 1;
}

sub address { ask_kernel($node, 1, new_address($LOOPBACK, $_[0], 32)) || fails("the address $_[0]") }

# As container runtimes do: a pod's processes may open each port, and ask for echoes where all groups are known.
my @usual = ('net/ipv4/ip_unprivileged_port_start=0');
sub pod {
  # All that it sends goes by the node, also to its neighbours: else their answers would miss the rules of Services.
  my ($file, $address, $gateway, @settings) = @_;
  open(my $namespace, '<', $file) or return fails('the network of the pod');
  my ($socket, $plain) = within($namespace, sub {
    write_file('/proc/sys/net/ipv4/ping_group_range', '0 2147483647');
    for (@usual, @settings) {
      my ($name, $value) = split /=/, $_, 2;
      write_file("/proc/sys/$name", $value) or fails("sysctl " . ($name =~ tr{/}{.}r)), return ();
    }
    return (netlink(), any_socket());
  }) or return 0;
  # The kernel would look through all names for a free one.
  my $near = 'pod' . unpack('H8', inet_aton($address));
  my $pair = new_pair({ name => $near, master => $BRIDGE }, { name => 'eth0', namespace => $namespace });
  ask_kernel($node, 0, $pair) && (my $end = index_of('eth0', $plain)) or return fails('the link of the pod');
  my @inside = ((map { set_link({ index => $_ }) } $LOOPBACK, $end), new_address($end, $address, 32),
    link_route($end, $gateway, 32, $address), default_route($gateway));
  return ask_kernel($socket, 0, @inside) || fails("the address $address");
}

# Forwards what pods send to other nodes of this machine. It vanishes with the node's network. The link of an earlier network
# may still be there. What the machine sends goes by the node, as all that pods send: both ways have the same rules.
sub machine_link {
  my ($name, $address, $network, $bits, $gateway) = @_;
  my $on_node = any_socket();
  return 1 if index_of('machine', $on_node);
  ask_kernel($machine, 0, delete_link($name));
  my $pair = new_pair({ name => $name }, { name => 'machine', namespace => $own });
  ask_kernel($machine, 0, $pair) or return fails('the link to the machine');
  my ($end, $far) = (index_of($name, $machine_socket), index_of('machine', $on_node));
  my $is_made = $end && $far && ask_kernel($node, 0, set_link({ index => $far, master => $BRIDGE }), default_route($address))
    && ask_kernel($machine, 0, new_address($end, $address, 32), link_route($end, $gateway, 32, $address),
      far_route($end, $gateway, $network, $bits, $address, 0));
  return 1 if $is_made;
  my $error = $!;
  ask_kernel($machine, 0, delete_link($name));
  $! = $error;
  return fails('the route to the pods');
}

# The metric says whose cluster it is, see machine-link.ts; several nodes of one have routes of their own.
sub service_route {
  my ($name, $network, $bits, $gateway, $address, $owner) = @_;
  my $end = index_of($name, $machine_socket) or return fails("the link $name");
  my $metric = $owner << 12 | $end & 0xfff;
  return ask_kernel($machine, 1, far_route($end, $gateway, $network, $bits, $address, $metric)) || fails("the route to $network/$bits");
}

# A pair of links of their own: the machine need not forward between its nodes, which firewalls such as Docker's forbid.
sub neighbour {
  my ($file, @words) = @_;
  my ($own, $other) = ([@words[0 .. 2]], [@words[3 .. 5]]);
  my ($near, $far) = map { 'to' . unpack('H8', inet_aton($_->[0])) } $other, $own;
  my $here = any_socket();
  return 1 if index_of($near, $here);
  open(my $namespace, '<', $file) or return fails('the network of another node');
  my ($socket, $there) = within($namespace, sub { (netlink(), any_socket()) }) or return fails('the network of another node');
  ask_kernel($node, 0, new_pair({ name => $near }, { name => $far, namespace => $namespace })) or return fails('the link to another node');
  my $end = index_of($far, $there);
  my $is_made = $end && ask_kernel($socket, 0, set_link({ index => $end }), way_to($end, $own, $other->[0]))
    && ask_kernel($node, 0, way_to(index_of($near, $here), $other, $own->[0]));
  return $is_made || fails('the route to another node');
}
sub way_to {
  my ($index, $to, $source) = @_;
  my ($gateway, $network, $bits) = @$to;
  # Without an address of the link, that of a Service would ask for the gateway, which has the same.
  return (new_address($index, $source, 32), link_route($index, $gateway, 32, $source), far_route($index, $gateway, $network, $bits, $source, 0));
}

sub tunnel {
  my ($problem) = set_tunnel({ machine => $machine, node => $node, namespace => $own, sockets => [$machine_socket, any_socket()] }, $_[0]);
  return !$problem || fails($problem);
}

sub any_socket { socket(my $socket, AF_INET, SOCK_DGRAM, 0) or return undef; return $socket }
# Of a link in the network in which the socket lies: SIOCGIFINDEX.
sub index_of {
  my ($name, $socket) = @_;
  my $request = pack('a16x24', $name);
  return ioctl($socket, 0x8933, $request) ? unpack('x16L', $request) : undef;
}

sub place_of {
  my ($host, $port) = @_;
  return ((AF_INET6, pack_sockaddr_in6($port, inet_pton(AF_INET6, $host)))) if $host =~ /:/;
  return (AF_INET, pack_sockaddr_in($port, inet_aton($host)));
}

# Passed with one byte string, as sendmsg takes it: an iovec and a control message of SCM_RIGHTS.
sub hand_over {
  my ($id, $type, $socket) = @_;
  my $text = qq({"cmd":"NODE_HANDLE","type":"$type","msg":{"id":$id}}\n);
  my $parts = pack('P Q', $text, length $text);
  my $control = pack('Q l l l x4', 20, SOL_SOCKET, 1, fileno $socket);
  my $message = pack('Q L x4 P Q P Q l x4', 0, 0, $parts, 1, $control, length $control, 0);
  syscall($number{sendmsg}, $ENV{NODE_CHANNEL_FD} + 0, $message, 0) > 0 or refuse($id, 'handing over a socket');
}

my $channel;
sub say_line { syswrite($channel, "$_[0]\n") }
sub refuse {
  my ($id, $why) = @_;
  say_line(sprintf '{"id":%d,"errno":%d,"what":"%s"}', $id, $!, $why);
}

# By file number: connections under way.
my %trying;
sub begin_connection {
  my ($id, $host, $port, $ms, $inside) = @_;
  my ($family, $to) = place_of($host, $port);
  my $make = sub { socket(my $made, $family, SOCK_STREAM, 0) or return (); $made };
  my $namespace;
  !$inside || open($namespace, '<', $inside) or return refuse($id, 'the network of the pod');
  my ($socket) = $inside ? within($namespace, $make) : $make->() or return refuse($id, 'socket');
  fcntl($socket, F_SETFL, O_NONBLOCK);
  return hand_over($id, 'net.Socket', $socket) if connect($socket, $to);
  return refuse($id, 'connect') if $! != $UNDER_WAY;
  $trying{fileno $socket} = [$id, $socket, now() + $ms / 1000];
}
sub end_connection {
  my ($fd) = @_;
  my ($id, $socket, $until) = @{$trying{$fd}};
  delete $trying{$fd};
  $! = unpack('l', getsockopt($socket, SOL_SOCKET, SO_ERROR));
  return $! == 0 ? hand_over($id, 'net.Socket', $socket) : refuse($id, 'connect');
}
sub now {
  my $time = "\0" x 16;
  syscall($number{clock_gettime}, 1, $time);
  my ($seconds, $nanoseconds) = unpack('qq', $time);
  return $seconds + $nanoseconds / 1e9;
}

sub server {
  my ($id, $type, $kind, $host, $port, $others) = @_;
  my ($family, $at) = place_of($host, $port);
  socket(my $socket, $family, $kind, 0) or return refuse($id, 'socket');
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1) if $kind == SOCK_STREAM;
  !$others || setsockopt($socket, 0, $TRANSPARENT, 1) or return refuse($id, 'IP_TRANSPARENT');
  bind($socket, $at) or return refuse($id, 'bind');
  $kind == SOCK_DGRAM || listen($socket, 511) or return refuse($id, 'listen');
  hand_over($id, $type, $socket);
}

# It ends when we do: then it reads the end of its requests.
my $relay;
sub open_relay {
  socketpair(my $ours, my $its, AF_UNIX, SOCK_STREAM, 0) && defined(my $child = fork) or return 0;
  if (!$child) {
    close $channel;
    open(STDIN, '<&', $its) && open(STDOUT, '>&', $its) && exec 'perl', "${here}relay.pl", %number;
    exit 1;
  }
  return $relay = $ours;
}
sub ask_relay {
  my ($request) = @_;
  $relay || open_relay() or return fails('the relay');
  my $readable = '';
  vec($readable, fileno $relay, 1) = 1;
  syswrite($relay, "$request\n");
  # It answers with one piece.
  if (select($readable, undef, undef, 5) > 0 && sysread($relay, my $answer, 4096)) {
    my ($failed, $error) = split /\t/, $answer;
    return 1 unless $error;
    $! = $error;
    return fails($failed);
  }
  undef $relay;
  $! = $TIMED_OUT;
  return fails('the relay');
}
my %addressed;
sub serve {
  my ($name) = @_;
  open(my $file, '<', $name) or return fails('the list of Services');
  <$file>;
  for my $address (grep { !$addressed{$_} } map { (split ' ')[0] } <$file>) { $addressed{$address} = address($address) or return 0 }
  return ask_relay("serve $name");
}

my %build = (bridge => \&bridge, address => \&address, pod => \&pod, rules => \&rules, sets => \&sets, link => \&machine_link,
  services => \&service_route, serve => \&serve, lost => sub { ask_relay("lost $_[0]") },
  sctp => sub { socket(my $socket, AF_INET, SOCK_STREAM, 132) || fails('SCTP') }, marked => \&marked, forget => \&forget, neighbour => \&neighbour,
  tunnel => \&tunnel);
my %make = (
  connect => \&begin_connection,
  listen => sub { server($_[0], 'net.Server', SOCK_STREAM, @_[1, 2, 3]) },
  bind => sub { server($_[0], 'dgram.Socket","dgramType":"udp4', SOCK_DGRAM, @_[1, 2]) },
);
sub answer {
  my ($id, $verb, @words) = @_;
  return $make{$verb}->($id, @words) if $make{$verb};
  $what = $verb;
  $build{$verb} && $build{$verb}->(@words) ? say_line(qq({"id":$id})) : refuse($id, $what);
}

sub try_tunnel {
  ask('unshare', $NEW_NETWORK) && ($node = netlink()) or return fails('a network namespace');
  ask_kernel($node, 0, new_tunnel({ name => 'pod-tunnel' }, '127.0.0.1', 1)) or return fails('a link of the kind vxlan');
  return 1 if system('nft list tables >/dev/null 2>&1') == 0;
  $! = $MISSING;
  return fails('nft');
}

sub try_all {
  my ($user, $group) = ($> + 0, $) + 0);
  ask('unshare', ($user ? $NEW_USERS : 0) | $NEW_NETWORK) or return fails('a network namespace');
  !$user || write_file('/proc/self/setgroups', 'deny') && write_file('/proc/self/uid_map', "$user $user 1")
    && write_file('/proc/self/gid_map', "$group $group 1") or return fails('a user namespace');
  open($own, '<', '/proc/self/ns/net') && ($node = netlink()) or return fails('a network namespace');
  bridge('10.0.0.1', 24) or return 0;
  ask('unshare', $NEW_NETWORK) or return fails('a network namespace');
  my $file = "/proc/$$/fd/" . fileno $own;
  open(my $inner, '<', '/proc/self/ns/net') && ask('setns', fileno $own, $NEW_NETWORK) or return fails('entering a network');
  return pod("/proc/$$/fd/" . fileno $inner, '10.0.0.2', '10.0.0.1');
}

if ($place =~ /^try/) {
  exit 0 if %number && ($place eq 'try' ? try_all() : try_tunnel());
  print %number ? "$what: " . lc $! : 'no numbers of system calls are known for this processor';
  exit 1;
}

# An ordinary user's networks belong to the user namespace of the shim.
open($own, '<', $place) or die "$place: $!\n";
if ($> && $place =~ m{^(/proc/\d+)/}) {
  my $users;
  open($users, '<', "$1/ns/user") && ask('setns', fileno $users, $NEW_USERS) or die "$1/ns/user: $!\n";
  # A program that is run keeps the rights that are inherited and ambient alone: nft needs these.
  ask('capset', pack('L2', 0x20080522, 0), pack('L6', (0xffffffff) x 6));
  syscall($number{prctl}, 47, 2, $_, 0, 0) for $NETWORK_ADMIN, $RAW_NETWORK;
}
ask('setns', fileno $own, $NEW_NETWORK) or die "$place: $!\n";
$node = netlink() or die "netlink: $!\n";
# Another door may have made it; it is wanted again or not.
ask_kernel($node, 0, delete_link('pod-tunnel'));
open($channel, '+<&=', $ENV{NODE_CHANNEL_FD}) or die "the channel: $!\n";
my $unread = '';
while (1) {
  my ($readable, $writable) = ('', '');
  vec($readable, fileno $channel, 1) = 1;
  vec($writable, $_, 1) = 1 for keys %trying;
  my ($first) = sort { $a <=> $b } map { $_->[2] } values %trying;
  my $wait = defined $first ? $first - now() : undef;
  select($readable, $writable, undef, defined $wait && $wait < 0 ? 0 : $wait) >= 0 or next;
  for my $fd (keys %trying) {
    if (vec($writable, $fd, 1)) { end_connection($fd) }
    elsif ($trying{$fd}[2] <= now()) {
      $! = $TIMED_OUT;
      refuse((delete $trying{$fd})->[0], 'connect');
    }
  }
  next unless vec($readable, fileno $channel, 1);
  sysread($channel, $unread, 65536, length $unread) or last;
  while ($unread =~ s/^([^\n]*)\n//) {
    my $line = $1;
    answer(split /\\t/, $1) if $line =~ /^"(.*)"$/;
  }
}
