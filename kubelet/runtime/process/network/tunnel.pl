# The tunnel to nodes of other machines: a link of the kind vxlan in the node's network, whose datagrams are the machine's. It vanishes
# with the node's network. A file says what it is:
#   ADDRESS FROM PORT DEVICE           the node's own address; the machine's address, port and device by which it sends
#   ADDRESS NETWORK BITS MACHINE PORT  a line for each other node: its own address and range, and where its machine takes datagrams
# Without a line there is no tunnel. What has changed since the last file is made and taken back.
use strict;
use Socket;

my $NAME = 'pod-tunnel';
my $HEADERS = 50; # of Ethernet, IPv4, UDP and VXLAN
my $METRIC = 100; # Links to nodes of this machine come first.
my ($own_line, %others) = ('');

# Returns what failed, if something did.
sub set_tunnel {
  my ($place, $name) = @_;
  open(my $file, '<', $name) or return 'the list of nodes';
  chomp(my ($wanted, @lines) = <$file>);
  $wanted //= '';
  if ($wanted ne $own_line) {
    ($own_line, %others) = ('');
    ask_kernel($place->{node}, 0, delete_link($NAME));
    return unless $wanted;
    make_tunnel($place, split ' ', $wanted) or return 'the tunnel';
    $own_line = $wanted;
  }
  return unless $own_line;
  my ($own) = split ' ', $own_line;
  my $index = index_of($NAME, $place->{sockets}[1]) or return 'the tunnel';
  my %now = map { $_ => 1 } @lines;
  for my $line (grep { !$now{$_} } keys %others) {
    ask_kernel($place->{node}, 0, undone(way_by_tunnel($index, $own, split ' ', $line)));
    delete $others{$line};
  }
  for my $line (grep { !$others{$_} } @lines) {
    ask_kernel($place->{node}, 1, way_by_tunnel($index, $own, split ' ', $line)) or return "the way to $line";
    $others{$line} = 1;
  }
  return;
}

sub make_tunnel {
  my ($place, $own, $from, $port, $device) = @_;
  my $request = pack('a16x24', $device);
  ioctl($place->{sockets}[0], 0x8921, $request) or return 0; # SIOCGIFMTU
  my $mtu = unpack('x16l', $request) - $HEADERS;
  my $link = { name => $NAME, mtu => $mtu, address => hardware($own), namespace => $place->{namespace} };
  ask_kernel($place->{machine}, 0, new_tunnel($link, $from, $port)) or return 0;
  my $index = index_of($NAME, $place->{sockets}[1]) or return 0;
  return ask_kernel($place->{node}, 1, new_address($index, $own, 32));
}

sub way_by_tunnel {
  my ($index, $own, $address, $network, $bits, $at, $port) = @_;
  return (far_neighbour($index, $address, hardware($address), $at, $port), tunnel_route($index, $address, $network, $bits, $own, $METRIC));
}

# Follows from the address: a node needs to know no more of another.
sub hardware { "\x02\x42" . inet_aton($_[0]) }
1;
