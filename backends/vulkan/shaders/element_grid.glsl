// One invocation an element of a rows x cols grid; a grid beyond the device's limits is walked in strides.
void element(uint row, uint col);

void main() {
  for (uint row = gl_WorkGroupID.y; row < push.rows; row += gl_NumWorkGroups.y)
    for (uint col = gl_GlobalInvocationID.x; col < push.cols; col += gl_NumWorkGroups.x * LANES)
      element(row, col);
}
