/** A network that can be cut: connections to a port of this machine, handed on to another. */

import { connect, createServer } from 'node:net';

export async function cuttable(port) {
  const open = new Set();
  let isCut = false;
  const server = createServer((from) => {
    if (isCut) {
      from.destroy();
      return;
    }
    const to = connect(port, '127.0.0.1');
    for (const [socket, other] of [[from, to], [to, from]]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut() {
      isCut = true;
      open.forEach((socket) => socket.destroy());
    },
    mend() {
      isCut = false;
    },
    close() {
      this.cut();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
