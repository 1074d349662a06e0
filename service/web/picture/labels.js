// Placement of labels without overlap.

// The first of some boxes, [left, top, width, height], that lies inside the picture and on no other box.
export const freeBox = (boxes, taken, { width, height }) => boxes.find((box) => isInside(box, width, height) && !taken.some((other) => overlap(box, other)));

const isInside = ([left, top, width, height], wide, high) => left > 0 && top > 0 && left + width < wide && top + height < high;

const overlap = ([left, top, width, height], [x, y, w, h]) => left < x + w && x < left + width && top < y + h && y < top + height;
