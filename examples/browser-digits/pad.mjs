/** A pad to draw on. It converts a drawing to the data set's format: 8 by 8 counts of inked pixels, 0 to 16. */

const SIDE = 8;
/** The number of pixels per side of the raster. Inked pixels are then counted in blocks of 4 by 4. */
const FINE = 32;
const BLOCK = FINE / SIDE;
/** The width of the free margin around a drawing in pixels, as in the data set. */
const MARGIN = 2;

export class Pad {
  constructor(canvas, onDrawn) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', { willReadFrequently: true });
    this.onDrawn = onDrawn;
    Object.assign(this.context, { lineWidth: 22, lineCap: 'round', lineJoin: 'round', strokeStyle: '#1c2430' });
    let isDown = false;
    canvas.addEventListener('pointerdown', (event) => {
      isDown = true;
      canvas.setPointerCapture(event.pointerId);
      this.context.beginPath();
      this.line(event);
    });
    canvas.addEventListener('pointermove', (event) => isDown && this.line(event));
    for (const end of ['pointerup', 'pointercancel']) {
      canvas.addEventListener(end, () => {
        if (isDown) {
          isDown = false;
          this.onDrawn();
        }
      });
    }
  }

  clear() {
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** Returns 64 counts, or null if nothing is drawn. */
  features() {
    const { width, height } = this.canvas;
    const { data } = this.context.getImageData(0, 0, width, height);
    const isInked = (x, y) => x >= 0 && y >= 0 && x < width && y < height && data[4 * (y * width + x) + 3] > 96;
    const box = this.box(isInked);
    if (box === null) {
      return null;
    }
    const size = Math.max(box.right - box.left, box.bottom - box.top) + 1;
    const scale = size / (FINE - 2 * MARGIN);
    const [centreX, centreY] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
    const features = new Float32Array(SIDE * SIDE);
    for (let y = 0; y < FINE; y += 1) {
      for (let x = 0; x < FINE; x += 1) {
        const [fromX, fromY] = [centreX + (x + 0.5 - FINE / 2) * scale, centreY + (y + 0.5 - FINE / 2) * scale];
        if (isInked(Math.round(fromX), Math.round(fromY))) {
          features[Math.floor(y / BLOCK) * SIDE + Math.floor(x / BLOCK)] += 1;
        }
      }
    }
    return features;
  }

  line(event) {
    const frame = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - frame.left) / frame.width) * this.canvas.width;
    const y = ((event.clientY - frame.top) / frame.height) * this.canvas.height;
    this.context.lineTo(x, y);
    this.context.stroke();
  }

  box(isInked) {
    const { width, height } = this.canvas;
    let box = null;
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        if (isInked(x, y)) {
          box ??= { left: x, right: x, top: y, bottom: y };
          box.left = Math.min(box.left, x);
          box.right = Math.max(box.right, x);
          box.bottom = y;
        }
      }
    }
    return box;
  }
}
