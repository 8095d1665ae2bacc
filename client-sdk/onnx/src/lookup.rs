//! Finds the features by which a model looks up rows of a table.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use folkmoot_graph::op::{ElementOp, Op, broadcast_strides, strides, volume};
use folkmoot_graph::{Graph, Node, Source, ValueId};

/// A feature from which the position of a row in a table is computed: `scale · feature + offset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lookup {
    /// The feature's position among the flat features of an example.
    pub column: usize,
    /// The factor of the feature, usually 1.
    pub scale: f64,
    /// The number added to it, usually 0.
    pub offset: f64,
    /// The number of rows of the table.
    pub rows: usize,
}

impl Lookup {
    /// Returns the row that a feature stands for, or `None` if there is none: positions are whole numbers from 0 to
    /// `rows` - 1.
    pub fn row(&self, feature: f32) -> Option<usize> {
        let position = self.scale * f64::from(feature) + self.offset;
        (position.fract() == 0.0 && (0.0..self.rows as f64).contains(&position)).then_some(position as usize)
    }
}

/// The features with which a model looks up rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lookups {
    /// The features whose rows are known to be in range or not.
    pub checked: Vec<Lookup>,
    /// `true` if the model also computes positions from the features in another way. They are not checked, and a position
    /// out of range reads the nearest row.
    pub has_unchecked: bool,
}

/// An element of a value, as a function of one feature.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    column: usize,
    /// 0 for a constant.
    scale: f64,
    offset: f64,
}

/// Finds the lookups of a lowered model whose input 0 is the features, with `width` features for each example.
pub(crate) fn lookups(graph: &Graph, width: usize) -> Lookups {
    let mut search = Search { graph, width, found: BTreeMap::new() };
    let mut lookups = Lookups::default();
    let mut seen = BTreeSet::new();
    for node in &graph.nodes {
        let Op::Gather { axis } = node.op else { continue };
        let [data, positions] = node.inputs[..] else { continue };
        let rows = graph.shape(data)[axis];
        match search.cells(positions) {
            Some(cells) => {
                for cell in cells.iter().filter(|cell| cell.scale != 0.0) {
                    if seen.insert((cell.column, cell.scale.to_bits(), cell.offset.to_bits(), rows)) {
                        let Cell { column, scale, offset } = *cell;
                        lookups.checked.push(Lookup { column, scale, offset, rows });
                    }
                }
            }
            None => lookups.has_unchecked |= graph.constant(positions).is_none(),
        }
    }
    lookups
}

/// The elements of values, as far as they are known.
struct Search<'a> {
    graph: &'a Graph,
    width: usize,
    found: BTreeMap<ValueId, Option<Rc<Vec<Cell>>>>,
}

impl Search<'_> {
    /// Returns the elements of a value, or `None` if they are not affine functions of single features.
    fn cells(&mut self, value: ValueId) -> Option<Rc<Vec<Cell>>> {
        // Every node reads only earlier values, so a stack of values to visit ends.
        let mut stack = vec![value];
        while let Some(top) = stack.last().copied() {
            if self.found.contains_key(&top) {
                stack.pop();
                continue;
            }
            let node = match self.graph.values[top.0].source {
                Source::Node(index) if is_followed(&self.graph.nodes[index].op) => &self.graph.nodes[index],
                _ => {
                    let cells = self.of_source(top);
                    self.found.insert(top, cells);
                    continue;
                }
            };
            let missing: Vec<ValueId> =
                node.inputs.iter().copied().filter(|input| !self.found.contains_key(input)).collect();
            if missing.is_empty() {
                let inputs: Option<Vec<Rc<Vec<Cell>>>> =
                    node.inputs.iter().map(|input| self.found[input].clone()).collect();
                let cells = inputs.and_then(|inputs| self.of_node(node, &inputs)).map(Rc::new);
                self.found.insert(top, cells);
            }
            stack.extend(missing);
        }
        self.found[&value].clone()
    }

    fn of_source(&self, value: ValueId) -> Option<Rc<Vec<Cell>>> {
        let count = volume(self.graph.shape(value));
        match self.graph.values[value.0].source {
            Source::Input(0) => {
                let cell = |index| Cell { column: index % self.width, scale: 1.0, offset: 0.0 };
                Some(Rc::new((0..count).map(cell).collect()))
            }
            Source::Constant(index) => {
                let cell = |number: &f64| Cell { column: 0, scale: 0.0, offset: *number };
                Some(Rc::new(self.graph.constants[index].iter().map(cell).collect()))
            }
            _ => None,
        }
    }

    fn of_node(&self, node: &Node, inputs: &[Rc<Vec<Cell>>]) -> Option<Vec<Cell>> {
        let out = self.graph.shape(node.output);
        let shapes: Vec<&[usize]> = node.inputs.iter().map(|input| self.graph.shape(*input)).collect();
        let read = |input: usize, start: usize, steps: &[isize]| -> Vec<Cell> {
            let at = offsets(out, steps).map(|offset| start.wrapping_add_signed(offset));
            at.map(|at| inputs[input][at]).collect()
        };
        let spread = |input: usize| -> Vec<Cell> {
            let steps: Vec<isize> =
                broadcast_strides(shapes[input], out).into_iter().map(|step| step as isize).collect();
            read(input, 0, &steps)
        };
        match &node.op {
            Op::Reshape | Op::Element(ElementOp::Truncate | ElementOp::Detach) => Some(inputs[0].to_vec()),
            Op::Broadcast => Some(spread(0)),
            Op::Transpose { axes } => {
                let own = strides(shapes[0]);
                let steps: Vec<isize> = axes.iter().map(|axis| own[*axis] as isize).collect();
                Some(read(0, 0, &steps))
            }
            Op::Slice { starts, steps } => {
                let own = strides(shapes[0]);
                let start = starts.iter().zip(&own).map(|(start, stride)| start * stride).sum();
                let steps: Vec<isize> =
                    steps.iter().zip(&own).map(|(step, stride)| step * *stride as isize).collect();
                Some(read(0, start, &steps))
            }
            Op::Gather { axis } => {
                let size = shapes[0][*axis] as f64;
                let inner: usize = shapes[0][axis + 1..].iter().product();
                let row = |cell: &Cell| {
                    let from_start = if cell.offset < 0.0 { cell.offset + size } else { cell.offset };
                    let is_known = cell.scale == 0.0 && (0.0..size).contains(&from_start);
                    is_known.then_some(from_start as usize)
                };
                let rows: Vec<usize> = inputs[1].iter().map(row).collect::<Option<_>>()?;
                let outer = 0..shapes[0][..*axis].iter().product::<usize>();
                let starts = outer.flat_map(|outer| rows.iter().map(move |row| outer * size as usize + row));
                Some(starts.flat_map(|row| inputs[0][row * inner..][..inner].to_vec()).collect())
            }
            Op::Element(op) => {
                let pairs = spread(0).into_iter().zip(spread(1));
                pairs.map(|(a, b)| combined(*op, a, b)).collect()
            }
            _ => None,
        }
    }
}

/// Returns whether the elements of an operator's result can be known.
fn is_followed(op: &Op) -> bool {
    use ElementOp::{Add, Detach, Multiply, Subtract, Truncate};
    match op {
        Op::Element(op) => matches!(op, Truncate | Detach | Add | Subtract | Multiply),
        Op::Reshape | Op::Broadcast | Op::Transpose { .. } | Op::Slice { .. } | Op::Gather { .. } => true,
        _ => false,
    }
}

/// Returns the result of an operator on two elements, if it is a function of one feature.
fn combined(op: ElementOp, a: Cell, b: Cell) -> Option<Cell> {
    let is_constant = |cell: Cell| cell.scale == 0.0;
    let column = if is_constant(a) { b.column } else { a.column };
    if !is_constant(a) && !is_constant(b) && (a.column != b.column || op == ElementOp::Multiply) {
        return None;
    }
    let (scale, offset) = match op {
        ElementOp::Add => (a.scale + b.scale, a.offset + b.offset),
        ElementOp::Subtract => (a.scale - b.scale, a.offset - b.offset),
        ElementOp::Multiply if is_constant(a) => (a.offset * b.scale, a.offset * b.offset),
        ElementOp::Multiply => (a.scale * b.offset, a.offset * b.offset),
        _ => return None,
    };
    Some(Cell { column, scale, offset })
}

/// Returns the offset of each element of `shape`, row-major, in a tensor with these strides.
fn offsets<'a>(shape: &'a [usize], steps: &'a [isize]) -> impl Iterator<Item = isize> + 'a {
    (0..volume(shape)).map(move |index| {
        let (mut rest, mut offset) = (index, 0);
        for (size, step) in shape.iter().zip(steps).rev() {
            offset += (rest % size) as isize * step;
            rest /= size;
        }
        offset
    })
}
