/** A network that can be cut: connections to a port of this machine, handed on to another. */

import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';

export async function cuttable(port) {
  const open = new Set();
  let isCut = false;
  let answersToBreak = 0;
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
    }
    from.pipe(to);
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
    /** The next answers that have a body come without it, and their connections end. */
    breakAnswers(count) {
      answersToBreak = count;
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
