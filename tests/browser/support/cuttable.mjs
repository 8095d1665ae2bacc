/** A network that can be cut: a port on this machine that forwards connections to a server. */

import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';

/** Opens the network. `url` returns the server's address, which may change. */
export async function cuttable(url) {
  const open = new Set();
  let isCut = false;
  let answersToBreak = 0;
  let updateBytesLeft = Infinity;
  const server = createServer((from) => {
    if (isCut) {
      from.destroy();
      return;
    }
    const { hostname, port } = new URL(url());
    const to = connect(port, hostname);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    let isUpdate = false;
    const requests = new Transform({
      transform(bytes, _, done) {
        // The head of a request begins a new chunk of bytes. All bytes after the head belong to the body.
        const head = /^[A-Z]+ \S+ HTTP/.exec(bytes.toString('latin1', 0, 200))?.[0];
        isUpdate = head === undefined ? isUpdate : /^PUT .*\/update /.test(head);
        const end = head === undefined ? 0 : bytes.indexOf('\r\n\r\n') + 4;
        const bodyBytes = isUpdate ? bytes.length - end : 0;
        if (bodyBytes <= updateBytesLeft) {
          updateBytesLeft -= bodyBytes;
          done(null, bytes);
          return;
        }
        const rest = bytes.subarray(0, end + updateBytesLeft);
        updateBytesLeft = Infinity;
        // Cut the network, because Chromium would otherwise repeat the request immediately.
        isCut = true;
        to.end(rest, () => from.destroy());
      },
    });
    from.pipe(requests).pipe(to);
    const answers = new Transform({
      transform(bytes, _, done) {
        const end = bytes.indexOf('\r\n\r\n');
        const hasBody = end > 0 && /content-length: [1-9]/i.test(bytes.toString('latin1', 0, end));
        if (answersToBreak === 0 || !hasBody) {
          done(null, bytes);
          return;
        }
        answersToBreak -= 1;
        from.write(bytes.subarray(0, end + 4), () => from.destroy());
      },
    });
    to.pipe(answers).pipe(from);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut() {
      isCut = true;
      open.forEach((socket) => socket.destroy());
    },
    /** Breaks the next `count` responses that have a body: drops the body and closes the connection. */
    breakAnswers(count) {
      answersToBreak = count;
    },
    /** Cuts the network after `bytes` bytes of the next update. */
    cutUpdateAfter(bytes) {
      updateBytesLeft = bytes;
    },
    get answersToBreak() {
      return answersToBreak;
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
